import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import type { Priority } from '../../../lib/gearmonkey/core/client/run-options.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { JobBegunError } from '../../../lib/job/errors.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { useRedis } from '../../support/use-redis.js';
import { RedisActors } from '../redis-rig.js';

const JOBS = 300;
const LISTS: readonly Priority[] = ['high', 'normal', 'low'];

describe('an update on Redis', () => {
  const used = useRedis();
  let actors: RedisActors;
  let client: GearMonkeyClient;
  beforeAll(() => {
    actors = new RedisActors(used.url);
    client = actors.client();
  });
  stopWorkersAfterEach();
  afterAll(() => actors.close());

  it('loses and doubles no job that plain workers pop meanwhile', async () => {
    const fn = used.fn();
    const handles = await client.runMany(fn, Array.from({ length: JOBS }));
    const popped: string[] = [];
    const plain = Array.from({ length: 3 }, async () => {
      const redis = used.redis.duplicate();
      const queues = LISTS.map((list) => `queue:${fn}:${list}`);
      for (;;) {
        const taken = await redis.brpop(...queues, 1);
        if (!taken) break;
        popped.push(taken[1]);
      }
      redis.disconnect();
    });
    const came = await Promise.allSettled(
      handles.flatMap((handle) => LISTS.map((priority) => handle.update({ priority }))),
    );
    await Promise.all(plain);
    expect(popped.map(Number).toSorted((a, b) => a - b)).toEqual(handles.map(({ id }) => Number(id)));
    const refused = came.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    for (const { reason } of refused) expect(reason).toBeInstanceOf(JobBegunError);
  });

  describe('of a job that is unique, of a function with a limit', () => {
    const limited = () =>
      defineJob<string, string>(used.fn(), {
        limit: { key: (input) => input.charAt(0), concurrency: 1 },
        unique: { key: (input) => input },
      });

    it('waits while a worker gives the job its key', async () => {
      const job = limited();
      const store = actors.store();
      const handle = await new GearMonkeyClient(store).run(job, 'a1');
      const { jobs, normal } = keysOf(job.name);
      // As a claim leaves it until its worker has found out the key.
      await used.redis.lrem(normal, 1, handle.id);
      await used.redis.hset(jobs + handle.id, { status: 'busy', attempts: 1 });
      const refused = gate();
      const update = store.edits.update.bind(store);
      store.edits.update = async (...args) => {
        const came = await update(...args);
        if (came === 'begun') refused.open();
        return came;
      };
      const updating = handle.update({ input: 'b1' });
      await refused.passed;
      await used.redis
        .multi()
        .hset(jobs + handle.id, { status: 'idle', attempts: 0 })
        .lpush(normal, handle.id)
        .exec();
      await expect(updating).resolves.toBeUndefined();
      await expect(handle.get()).resolves.toMatchObject({ input: 'b1' });
    });

    it('is refused if a worker without the limit runs the job', async () => {
      const job = limited();
      const handle = await client.run(job, 'a1');
      const [begun, end] = [gate(), gate()];
      await runWorker(actors.source(), job.name, async () => {
        begun.open();
        await end.passed;
        return 'done';
      });
      await begun.passed;
      await expect(handle.update({ input: 'b1' })).rejects.toBeInstanceOf(JobBegunError);
      end.open();
      await expect(handle.result({ timeout: '60s' })).resolves.toBe('done');
    });
  });

  it('of a handle never reaches another job that got the id after a failover', async () => {
    const fn = used.fn();
    const lost = await client.run(fn, 'lost');
    await used.redis.del(`uid:${fn}`, `job:${fn}:1`, `queue:${fn}:normal`);
    await expect(lost.update({ input: 'x' })).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await client.run(fn, 'new');
    await expect(lost.update({ input: 'x', priority: 'high' })).rejects.toMatchObject({ code: 'JOB_LOST' });
    await expect(client.get(fn, 1)).resolves.toMatchObject({ input: 'new' });
    await client.update(fn, 1, { input: 'newer' });
    await expect(client.get(fn, 1)).resolves.toMatchObject({ input: 'newer' });
  });
});
