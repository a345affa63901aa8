import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client/client.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const CALLS = 20;

describe('The output of a call', () => {
  const server = useRedis();
  let actors: RedisActors;
  let client: GearMonkeyClient;

  beforeAll(() => {
    actors = new RedisActors(server.url);
    client = actors.client();
  });
  stopWorkersAfterEach();
  afterAll(() => actors.close());

  /** How often jobs were read while `action` ran. */
  async function readsOf(action: () => Promise<unknown>): Promise<number> {
    await server.redis.config('RESETSTAT');
    await action();
    const [, count] = /cmdstat_hgetall:calls=(\d+)/.exec(await server.redis.info('commandstats')) ?? [];
    return Number(count ?? 0);
  }

  async function inTurn(call: (i: number) => Promise<unknown>) {
    for (let i = 0; i < CALLS; i++) await call(i);
  }

  it('comes with a message, so that the job need not be read', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), fn, (input) => ({ doubled: 2 * (input as number) }));
    await client.call(fn, 0);
    const outputs: unknown[] = [];
    const reads = await readsOf(() => inTurn(async (i) => outputs.push(await client.call(fn, i))));
    expect(outputs).toEqual(Array.from({ length: CALLS }, (_, i) => ({ doubled: 2 * i })));
    expect(reads).toBe(0);
  });

  it.each([
    ['colons, lines and no ASCII', 'a:b\n1:ü🐒'],
    ['nothing', ''],
    ['a string of JSON', '{"x":1}'],
    ['more than a message takes', 'x'.repeat(100_000)],
  ])('is what the handler returned: %s', async (_, output) => {
    const fn = server.fn();
    await runWorker(actors.source(), fn, () => output);
    await expect(client.call(fn, 'x')).resolves.toBe(output);
    await expect(client.call(fn, 'x')).resolves.toBe(output);
  });

  it('is read from the job where it is no text', async () => {
    const ref = defineJob<unknown, unknown>(server.fn(), { codec: 'msgpack' });
    const bytes = new Uint8Array([0, 255, 128]);
    await runWorker(actors.source(), ref, () => bytes);
    client.register(ref);
    await expect(client.call(ref, 'x')).resolves.toEqual(bytes);
  });

  it('goes to nobody whom the job names by more than a word', async () => {
    const fn = server.fn();
    const listener = server.redis.duplicate();
    const heard: string[] = [];
    listener.on('pmessage', (_, channel: string) => heard.push(channel));
    await listener.psubscribe('*');
    const options = JSON.stringify({ reply: `x:evil channel` });
    await server.redis.hset(`job:${fn}:7`, 'status', 'idle', 'input', '1', 'options', options);
    await server.redis.lpush(`queue:${fn}:normal`, '7');
    await runWorker(actors.source(), fn, () => 'secret');
    await client.result(fn, '7', { timeout: '20s' });
    listener.disconnect();
    expect(heard.filter((channel) => channel.startsWith('reply:'))).toEqual([]);
  });

  it('reaches each of many callers', async () => {
    const fn = server.fn();
    const others = actors.client();
    await runWorker(actors.source(), fn, (input) => input, { concurrency: 50 });
    const calls = Array.from({ length: 300 }, (_, i) => (i % 2 ? client : others).call(fn, i));
    await expect(Promise.all(calls)).resolves.toEqual(Array.from({ length: 300 }, (_, i) => i));
  });
});
