import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client/client.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { gate } from '../support/gate.js';
import { claimOne, success } from '../contract/claiming.js';
import { RedisActors, submit } from './redis-rig.js';

describe('A worker, given what nobody would write', () => {
  const server = useRedis();
  let actors: RedisActors;
  let client: GearMonkeyClient;

  beforeAll(() => {
    actors = new RedisActors(server.url);
    client = actors.client();
  });
  afterEach(stopWorkers);
  afterAll(() => actors.close());

  const echo = (input: unknown) => input;

  async function goesOn(fn: string): Promise<void> {
    await expect(client.call(fn, 'next', { timeout: '10s' })).resolves.toBe('next');
  }

  it('fails the job alone when the input is not readable, and says why', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), fn, echo);
    const id = await submit(server.redis, fn, Buffer.from([0xff, 0xfe, 0x00]));
    await goesOn(fn);
    const status = () => server.redis.hget(`job:${fn}:${id}`, 'status');
    await eventually(async () => expect(await status()).toBe('error'));
    await expect(server.redis.hget(`job:${fn}:${id}`, 'output')).resolves.toContain(
      `The input of "${fn}" is not readable as json: it is not UTF-8`,
    );
    await expect(server.redis.hget(`job:${fn}:${id}`, 'error')).resolves.toContain('UNREADABLE_PAYLOAD');
  });

  it.each([
    ['has no hash', async () => undefined],
    ['is a string', async (key: string) => void (await server.redis.set(key, 'text'))],
    ['had finished', async (key: string) => void (await server.redis.hset(key, 'status', 'success'))],
    ['has no status', async (key: string) => void (await server.redis.hset(key, 'input', 'x'))],
  ])('drops a job that %s, and says so', async (_, prepare) => {
    const fn = server.fn();
    const problems: string[] = [];
    await prepare(`job:${fn}:77`);
    const before = await server.redis.dump(`job:${fn}:77`);
    await server.redis.lpush(`queue:${fn}:normal`, '77');
    await server.redis.zadd(`queue:${fn}:scheduled`, 1, '77');
    await runWorker(actors.source({ onProblem: (problem) => problems.push(problem) }), fn, echo);
    await goesOn(fn);
    expect(problems).toContain(
      `Job 77 of "${fn}" can't be run though queued: no hash, a malformed one, or begun or finished already.`,
    );
    await expect(server.redis.dump(`job:${fn}:77`)).resolves.toEqual(before);
    await expect(server.redis.exists(`queue:${fn}:normal`, `queue:${fn}:scheduled`)).resolves.toBe(0);
  });

  it.each([
    ['attempts are a word', { attempts: 'abc' }],
    ['attempts are negative', { attempts: '-5' }],
    ['attempts are endless', { attempts: 'inf' }],
    ['token is a word', { token: 'abc' }],
    ['token is negative', { token: '-5' }],
    ['status is a word of its own', { status: 'foo' }],
    ['queue is a word of its own', { queue: 'foo' }],
  ])('runs a job whose %s', async (_, fields) => {
    const fn = server.fn();
    const id = await submit(server.redis, fn, 'x');
    await server.redis.hset(`job:${fn}:${id}`, fields);
    await runWorker(actors.source(), fn, echo);
    await expect(client.result(fn, id, { timeout: '10s' })).resolves.toBe('x');
    await goesOn(fn);
  });

  it.each([['high'], ['normal'], ['low'], ['scheduled']])(
    'works through the other queues when %s is a string',
    async (queue) => {
      const fn = server.fn();
      await server.redis.set(`queue:${fn}:${queue}`, 'text');
      await runWorker(actors.source(), fn, echo);
      const priority = queue === 'high' ? 'low' : 'high';
      await expect(client.call(fn, 'x', { priority, timeout: '10s' })).resolves.toBe('x');
    },
  );

  it.each([
    ['deleted', async (key: string) => void (await server.redis.del(key))],
    ['replaced by a string', async (key: string) => void (await server.redis.set(key, 'text'))],
  ])('goes on after a job whose hash was %s while it ran', async (_, spoil) => {
    const fn = server.fn();
    const [started, end] = [gate(), gate()];
    await runWorker(actors.source(), fn, async (input) => {
      if (input === 'next') return input;
      started.open();
      return end.passed;
    });
    const job = await client.run(fn, 'x');
    await started.passed;
    await spoil(`job:${fn}:${job.id}`);
    end.open();
    await goesOn(fn);
    await expect(server.redis.zcard(`lease:${fn}`)).resolves.toBe(0);
  });

  it('goes on after a lease ran out whose job is a string by now', async () => {
    const fn = server.fn();
    const source = actors.source({ lease: 100 });
    const id = await submit(server.redis, fn, 'x');
    const claim = await claimOne(source, fn);
    await server.redis.set(`job:${fn}:${id}`, 'text');
    await runWorker(actors.source(), fn, echo);
    await eventually(async () => expect(await server.redis.zcard(`lease:${fn}`)).toBe(0));
    await expect(source.settle([success(claim)])).resolves.toEqual([claim]);
    await goesOn(fn);
  });

  it('loads its scripts again after SCRIPT FLUSH', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), fn, echo);
    await goesOn(fn);
    await server.redis.script('FLUSH');
    await goesOn(fn);
  });
});
