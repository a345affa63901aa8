import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { realNow } from '../../lib/job/real-time.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

/** A worker signs on again four times in it. */
const SHORT_PRESENCE_MS = 400;

describe('a function that a worker has stopped', () => {
  const used = useRedis();
  const apps = useApps();

  async function start() {
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: used.url, lease: '2s' })],
    });
    return { workers: app.get(GearMonkeyWorkers), client: app.get(GearMonkeyClient) };
  }

  it('has no presence, no leader and no subscription any more', async () => {
    const fn = used.fn();
    const { count, leader, cancel } = keysOf(fn);
    const { workers, client } = await start();
    const added = await workers.add(fn, () => 'done');
    await client.call(fn, null, { timeout: '20s' });
    const registered = async () => [
      await used.redis.get(count),
      await used.redis.exists(leader),
      (await used.redis.pubsub('NUMSUB', cancel))[1],
    ];
    await eventually(async () => expect(await registered()).toEqual(['1', 1, 1]));
    await added.stop();
    await eventually(async () => expect(await registered()).toEqual(['0', 0, 0]));
  });

  it('leaves its lease group to the next, whose leases are renewed', async () => {
    const [kept, stopped, next] = [used.fn(), used.fn(), used.fn()];
    const ends = gate();
    const { workers, client } = await start();
    await workers.add(kept, () => ends.passed);
    const added = await workers.add(stopped, () => 'done');
    await client.call(stopped, null, { timeout: '20s' });
    await added.stop();
    await workers.add(next, () => ends.passed);
    const jobs = [await client.run(kept, null), await client.run(next, null)];
    const expiries = async () => {
      const leases = [kept, next].map((fn) => used.redis.zrange(keysOf(fn).leases, '0', '-1', 'WITHSCORES'));
      return (await Promise.all(leases)).map(([, score]) => Number(score ?? 0));
    };
    const [first = 0, second = 0] = await until(async () => {
      const [one, other] = await expiries();
      return one && other ? [one, other] : undefined;
    });
    await until(async () => {
      const [one = 0, other = 0] = await expiries();
      return one > first + 1000 && other > second + 1000;
    });
    ends.open();
    await Promise.all(jobs.map((job) => job.result({ timeout: '20s' })));
    await expect(jobs[1]?.get()).resolves.toMatchObject({ state: 'succeeded', attempts: 1 });
  });

  it('is claimed by other workers at once', async () => {
    const fn = used.fn();
    const [one, other] = [await start(), await start()];
    const added = await one.workers.add(fn, () => 'one');
    await one.client.call(fn, null, { timeout: '20s' });
    await other.workers.add(fn, () => 'other');
    await added.stop();
    const outputs = await Promise.all(
      [1, 2, 3].map((input) => one.client.call(fn, input, { timeout: '20s' })),
    );
    expect(outputs).toEqual(['other', 'other', 'other']);
  });
});

describe('a function whose start fails half-way', () => {
  const used = useRedis();
  let actors: RedisActors;
  beforeEach(() => void (actors = new RedisActors(used.url)));
  afterEach(() => actors.close());
  stopWorkersAfterEach();

  it('is none of the worker: it is not counted, has no subscription and no limit, and can be added again', async () => {
    const source = actors.source({ presence: SHORT_PRESENCE_MS }, { keeper: true });
    const { worker } = await runWorker(source, used.fn(), () => 'done');
    const fn = used.fn('late');
    const { count, workers, cancel } = keysOf(fn);
    const known = async () => [
      await used.redis.get(count),
      await used.redis.zcard(workers),
      (await used.redis.pubsub('NUMSUB', cancel))[1],
      source['features'].keys.has(fn),
    ];
    const held = source['held'];
    const open = held.open.bind(held);
    // As if the time were up at once: the server subscribes all the same.
    held.open = (functions, opening) =>
      open(functions, { ...opening, subscribed: () => Promise.reject(new Error('too late')) });
    const handle = () => 'done';
    const limited = bindHandler(defineJob(fn), { limit: { concurrency: 1 } }, handle);
    await expect(worker.add(limited)).rejects.toThrow('too late');
    held.open = open;
    await eventually(async () => expect(await known()).toEqual(['0', 0, 0, false]));
    const from = realNow();
    await until(() => (held['keeper']?.renewedAt ?? 0) > from);
    expect(await known()).toEqual(['0', 0, 0, false]);
    await worker.add(bindHandler(defineJob(fn), {}, handle));
    expect(await known()).toEqual(['1', 1, 1, false]);
    await worker.remove(fn, 0);
    await eventually(async () => expect(await known()).toEqual(['0', 0, 0, false]));
  });
});
