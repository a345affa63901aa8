import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { instrumentation, subscribeTo } from '../../lib/job/instrumentation.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { CommandTrace } from '../support/command-trace.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const server = useRedis();
let actors: RedisActors;
let trace: CommandTrace;

beforeAll(async () => {
  actors = new RedisActors(server.url);
  trace = await CommandTrace.start(server.redis);
});
afterAll(() => {
  trace.stop();
  actors.close();
});

describe('run without options goes', () => {
  it('by the limit of the function', async () => {
    const fn = server.fn();
    const ref = defineJob(fn, { limit: { concurrency: 1 } });
    await actors.client().run(ref, 1);
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(0);
    await expect(server.redis.exists(`control:${fn}`)).resolves.toBe(1);
  });

  it('by the limit of its handler, also if it is added later', async () => {
    const fn = server.fn();
    const client = actors.client();
    await client.run(fn, 1);
    client.addHandler(fn, defineJob(fn, { limit: { concurrency: 1 } }));
    await client.run(fn, 2);
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
  });

  it('by the schema of the function', async () => {
    const fn = server.fn();
    const ref = defineJob(fn, { input: z.number() });
    const client = actors.client();
    await expect(client.run(ref, 'x' as unknown as number)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    await expect(server.redis.exists(`uid:${fn}`)).resolves.toBe(0);
    await expect(client.run(ref, 5)).resolves.toMatchObject({ id: '1' });
  });

  it('by the unique key of the function', async () => {
    const ref = defineJob<number>(server.fn(), { unique: { key: () => 'one' } });
    const client = actors.client();
    const [first, second] = await Promise.all([client.run(ref, 1), client.run(ref, 2)]);
    expect([first.created, second.created, second.id]).toEqual([true, false, first.id]);
  });

  it("by the function's time to begin", async () => {
    const fn = server.fn();
    await actors.client().run(defineJob(fn, { expires: '1h' }), 1);
    await expect(server.redis.hget(`job:${fn}:1`, 'options')).resolves.toContain('"expires":');
  });

  it('with the headers of the module', async () => {
    const fn = server.fn();
    await actors.client({ headers: () => ({ tenant: 'acme' }) }).run(fn, 1);
    await expect(server.redis.hget(`job:${fn}:1`, 'options')).resolves.toBe('{"headers":{"tenant":"acme"}}');
  });

  it('through tracing', async () => {
    const seen: unknown[] = [];
    const stop = subscribeTo(instrumentation.enqueue, { asyncEnd: ({ fn, ids }) => seen.push([fn, ids]) });
    const fn = server.fn();
    await actors.client().run(fn, 1);
    stop();
    expect(seen).toEqual([[fn, ['1']]]);
  });

  it('to a rejection if the function or the input is invalid, and never throws', async () => {
    const client = actors.client();
    await expect(client.run('a b', 1)).rejects.toMatchObject({ code: 'INVALID_FUNCTION_NAME' });
    await expect(client.run(server.fn(), 1n)).rejects.toMatchObject({ code: 'NOT_SERIALIZABLE' });
    await expect(actors.client().only([]).run('other', 1)).rejects.toMatchObject({
      code: 'UNKNOWN_FUNCTION',
    });
  });

  it('in one call with others without options, and apart from jobs with tags', async () => {
    const fn = server.fn();
    const client = actors.client();
    await trace.take();
    await Promise.all([
      client.run(fn, 1),
      client.run(fn, 2, { tags: ['a'] }),
      client.run(fn, 3),
      client.run(fn, 4, { headers: { tags: 'no' } }),
    ]);
    const calls = (await trace.take()).filter(({ name }) => name === 'enqueue');
    expect(calls).toHaveLength(2);
    await expect(client.find(fn, { tag: 'a' })).resolves.toMatchObject({ jobs: [{ tags: ['a'] }] });
  });
});
