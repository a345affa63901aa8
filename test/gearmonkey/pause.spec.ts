import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { CommandTrace } from '../support/command-trace.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors, submit } from './redis-rig.js';

/** What a job has waited whose marker was lost, at most: the leader looks once a second, and a worker wakes up. */
const LOOK_MS = 1000;

describe('a paused function on Redis', () => {
  const used = useRedis();
  let actors: RedisActors;
  let client: GearMonkeyClient;
  stopWorkersAfterEach();

  beforeAll(() => {
    actors = new RedisActors(used.url);
    client = actors.client();
  });
  afterAll(() => {
    actors.close();
    expect(actors.illegal).toEqual([]);
  });

  const passes = (ms: number) => {
    const since = performance.now();
    return until(() => performance.now() - since > ms);
  };

  it('goes on within the time of a look if all that tells workers of it is lost', async () => {
    const fn = used.fn();
    for (const _ of [1, 2]) await runWorker(actors.source(), fn, (input) => input);
    await client.pause(fn);
    const job = await client.run(fn, 'x');
    await until(async () => (await used.redis.exists(`wake:${fn}`)) === 0);
    await passes(LOOK_MS);
    await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    await used.redis.hdel(`control:${fn}`, 'paused');
    await expect(job.result({ timeout: '20s' })).resolves.toBe('x');
  });

  it('is not claimed for more often than workers wait for markers', async () => {
    const fn = used.fn();
    await client.pause(fn);
    await client.runMany(fn, Array.from({ length: 100 }));
    await client.run(fn, 'due', { delay: 1 });
    await runWorker(actors.source(), fn, (input) => input, { concurrency: 10 });
    await until(async () => (await used.redis.exists(`wake:${fn}`)) === 0);
    const trace = await CommandTrace.start(used.redis);
    await passes(4 * LOOK_MS);
    const commands = await trace.take();
    trace.stop();
    // A blocking call ends after two seconds.
    expect(commands.filter(({ command }) => command === 'blpop').length).toBeLessThanOrEqual(4);
    expect(commands.filter(({ command }) => command === 'lpush')).toEqual([]);
    await client.resume(fn);
    await eventually(async () => expect(await used.redis.llen(`queue:${fn}:normal`)).toBe(0));
  });

  it('is paused for jobs of plain clients, too', async () => {
    const fn = used.fn();
    await runWorker(actors.source(), fn, (input) => input);
    await client.pause(fn);
    const id = await submit(used.redis, fn, Buffer.from('"x"'));
    await passes(2 * LOOK_MS);
    await expect(client.get(fn, id)).resolves.toMatchObject({ state: 'waiting' });
    await client.resume(fn);
    await expect(client.result(fn, id, { timeout: '20s' })).resolves.toBe('x');
  });

  it('is told to observers again after their connection was lost', async () => {
    const fn = used.fn();
    const seen: boolean[] = [];
    const watching = client.watchPaused(fn).subscribe((paused) => seen.push(paused));
    await eventually(() => expect(seen).toEqual([false]));
    await used.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await used.redis.hset(`control:${fn}`, 'paused', 1);
    await eventually(() => expect(seen).toEqual([false, true]));
    watching.unsubscribe();
  });
});
