import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { onThisMachine } from '../support/machine.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

describe("A plain client's job on idle workers", () => {
  const server = useRedis();
  let actors: RedisActors;

  beforeAll(() => void (actors = new RedisActors(server.url)));
  stopWorkersAfterEach();
  afterAll(() => actors.close());

  /** As the protocol has it: the event comes before the id is in its queue. */
  async function submit(fn: string, input = 'x'): Promise<string> {
    const id = String(await server.redis.incr(`uid:${fn}`));
    await server.redis.hset(`job:${fn}:${id}`, 'status', 'idle', 'input', input);
    await server.redis.publish(`channel:${fn}`, `create:${id}`);
    await server.redis.lpush(`queue:${fn}:normal`, id);
    return id;
  }

  const finished = (fn: string, id: string) =>
    until(async () => (await server.redis.hget(`job:${fn}:${id}`, 'status')) === 'success');
  const listeners = async (fn: string) =>
    ((await server.redis.pubsub('NUMSUB', `channel:${fn}`)) as [string, number])[1];

  async function startWorkers(fn: string, count: number) {
    for (let i = 0; i < count; i++) await runWorker(actors.source(), fn, () => 'out');
    // Each learns of plain clients from a job that it claims.
    await until(async () => {
      await finished(fn, await submit(fn));
      return (await listeners(fn)) > 0;
    });
  }

  it('notifies one of them, however many there are', async () => {
    const fn = server.fn();
    await startWorkers(fn, 5);
    for (let i = 0; i < 20; i++) await finished(fn, await submit(fn));
    expect(await listeners(fn)).toBe(1);
    await expect(server.redis.pttl(`leader:${fn}`)).resolves.toBeGreaterThan(0);
  });

  it('starts long before the next periodic check', async () => {
    const fn = server.fn();
    await startWorkers(fn, 1);
    const median = async () => {
      const times = [];
      for (let i = 0; i < 15; i++) {
        const submitted = performance.now();
        await finished(fn, await submit(fn));
        times.push(performance.now() - submitted);
      }
      return times.sort((a, b) => a - b)[7];
    };
    // The periodic check comes once a second: without a notifier the median would be half a second. A busy machine may
    // be slow for a while.
    await eventually(async () => expect(await median()).toBeLessThan(onThisMachine(250)), {
      timeout: 60_000,
    });
  });

  it('notifies another worker after the leader has stopped', async () => {
    const fn = server.fn();
    const { worker } = await runWorker(actors.source(), fn, () => 'out');
    await finished(fn, await submit(fn));
    await eventually(async () => expect(await listeners(fn)).toBe(1));
    const leader = await server.redis.get(`leader:${fn}`);
    await worker.stop(0);
    await expect(server.redis.exists(`leader:${fn}`)).resolves.toBe(0);
    await expect(listeners(fn)).resolves.toBe(0);
    await startWorkers(fn, 1);
    await expect(server.redis.get(`leader:${fn}`)).resolves.not.toBe(leader);
  });

  it('is not subscribed to if there are no plain clients', async () => {
    const fn = server.fn();
    const client = actors.client();
    await runWorker(actors.source(), fn, () => 'out');
    const jobs = await client.runMany(fn, ['a', 'b', 'c']);
    for (const { id } of jobs) await finished(fn, id);
    await expect(listeners(fn)).resolves.toBe(0);
    await expect(server.redis.exists(`plain:${fn}`)).resolves.toBe(0);
  });
});
