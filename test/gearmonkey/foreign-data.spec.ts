import { describe, expect, it } from '@jest/globals';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { gate } from '../support/gate.js';
import { claimOne, success } from '../contract/claiming.js';
import { submit } from './redis-rig.js';
import { useGearMonkey } from './use-gearmonkey.js';

describe('A worker with malformed data', () => {
  const rig = useGearMonkey();

  const echo = (input: unknown) => input;

  async function goesOn(fn: string): Promise<void> {
    await expect(rig.client.call(fn, 'next', { timeout: '10s' })).resolves.toBe('next');
  }

  it('fails only the job whose input is not readable, with the reason', async () => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, echo);
    const id = await submit(rig.redis, fn, Buffer.from([0xff, 0xfe, 0x00]));
    await goesOn(fn);
    const status = () => rig.redis.hget(`job:${fn}:${id}`, 'status');
    await eventually(async () => expect(await status()).toBe('error'));
    await expect(rig.redis.hget(`job:${fn}:${id}`, 'output')).resolves.toContain(
      `The input of "${fn}" is not readable as json: it is not UTF-8`,
    );
    await expect(rig.redis.hget(`job:${fn}:${id}`, 'error')).resolves.toContain('UNREADABLE_PAYLOAD');
  });

  it.each([
    ['has no hash', async () => undefined],
    ['is a string', async (key: string) => void (await rig.redis.set(key, 'text'))],
    ['had finished', async (key: string) => void (await rig.redis.hset(key, 'status', 'success'))],
    ['has no status', async (key: string) => void (await rig.redis.hset(key, 'input', 'x'))],
  ])('drops a job that %s, and logs it', async (_, prepare) => {
    const fn = rig.fn();
    const problems: string[] = [];
    await prepare(`job:${fn}:77`);
    const before = await rig.redis.dump(`job:${fn}:77`);
    await rig.redis.lpush(`queue:${fn}:normal`, '77');
    await rig.redis.zadd(`queue:${fn}:scheduled`, 1, '77');
    await runWorker(rig.source({ onProblem: (problem) => problems.push(problem) }), fn, echo);
    await goesOn(fn);
    expect(problems).toContain(
      `Job 77 of "${fn}" can't be run: no such job, malformed, or running or finished already. Removed from the queue.`,
    );
    await expect(rig.redis.dump(`job:${fn}:77`)).resolves.toEqual(before);
    await expect(rig.redis.exists(`queue:${fn}:normal`, `queue:${fn}:scheduled`)).resolves.toBe(0);
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
    const fn = rig.fn();
    const id = await submit(rig.redis, fn, 'x');
    await rig.redis.hset(`job:${fn}:${id}`, fields);
    await runWorker(rig.source(), fn, echo);
    await expect(rig.client.result(fn, id, { timeout: '10s' })).resolves.toBe('x');
    await goesOn(fn);
  });

  it.each([['high'], ['normal'], ['low'], ['scheduled']])(
    'works through the other queues when %s is a string',
    async (queue) => {
      const fn = rig.fn();
      await rig.redis.set(`queue:${fn}:${queue}`, 'text');
      await runWorker(rig.source(), fn, echo);
      const priority = queue === 'high' ? 'low' : 'high';
      await expect(rig.client.call(fn, 'x', { priority, timeout: '10s' })).resolves.toBe('x');
    },
  );

  it.each([
    ['deleted', async (key: string) => void (await rig.redis.del(key))],
    ['replaced by a string', async (key: string) => void (await rig.redis.set(key, 'text'))],
  ])('continues after a job whose hash was %s while it ran', async (_, spoil) => {
    const fn = rig.fn();
    const [started, end] = [gate(), gate()];
    await runWorker(rig.source(), fn, async (input) => {
      if (input === 'next') return input;
      started.open();
      return end.passed;
    });
    const job = await rig.client.run(fn, 'x');
    await started.passed;
    await spoil(`job:${fn}:${job.id}`);
    end.open();
    await goesOn(fn);
    await expect(rig.redis.zcard(`lease:${fn}`)).resolves.toBe(0);
  });

  it('continues after a job’s lease has ended and its key is a string', async () => {
    const fn = rig.fn();
    const source = rig.source({ lease: 100 });
    const id = await submit(rig.redis, fn, 'x');
    const claim = await claimOne(source, fn);
    await rig.redis.set(`job:${fn}:${id}`, 'text');
    await runWorker(rig.source(), fn, echo);
    await eventually(async () => expect(await rig.redis.zcard(`lease:${fn}`)).toBe(0));
    await expect(source.settle([success(claim)])).resolves.toEqual([claim]);
    await goesOn(fn);
  });

  it("lists its other jobs after one whose id is ''", async () => {
    const fn = rig.fn();
    await rig.redis.hset(`job:${fn}:`, { status: 'idle', input: '"nameless"' });
    await rig.redis.lpush(`queue:${fn}:normal`, '');
    await runWorker(rig.source(), fn, echo);
    await goesOn(fn);
    await eventually(async () => expect(await rig.redis.hget(`job:${fn}:`, 'status')).toBe('success'));
    const listed = async () => {
      const { jobs, total } = await rig.client.list(fn, { state: 'succeeded' });
      return [jobs.map(({ id }) => id), total];
    };
    await expect(listed()).resolves.toEqual([['1'], 1]);
    // What another program may have listed.
    await rig.redis.zadd(`ended:${fn}:success`, Date.now(), '');
    await expect(listed()).resolves.toEqual([expect.arrayContaining(['1']), 2]);
  });

  it('loads its scripts again after SCRIPT FLUSH', async () => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, echo);
    await goesOn(fn);
    await rig.redis.script('FLUSH');
    await goesOn(fn);
  });
});
