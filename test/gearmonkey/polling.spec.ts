import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { CommandTrace } from '../support/command-trace.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { submit } from './redis-rig.js';
import { useGearMonkey } from './use-gearmonkey.js';

const POLL_MS = 200;
/** Longer than a test. */
const NEVER_MS = 60_000;

describe('A worker that polls', () => {
  const rig = useGearMonkey();
  let trace: CommandTrace;
  beforeAll(async () => void (trace = await CommandTrace.start(rig.redis)));
  afterAll(() => trace.stop());

  const polling = (pollInterval = POLL_MS) => rig.source({ pollInterval });
  const sent = async (fn: string) =>
    (await trace.take()).filter(
      ({ source, args }) => source !== 'lua' && args.some((arg) => arg.includes(fn)),
    );

  it('runs jobs of clients of both kinds without a call that blocks', async () => {
    const fn = rig.fn();
    const ran: unknown[] = [];
    await trace.take();
    await runWorker(polling(), fn, (input) => void ran.push(input));
    await rig.client.run(fn, 'ours');
    await eventually(() => expect(ran).toEqual(['ours']));
    await submit(rig.redis, fn, '"plain"');
    await eventually(() => expect(ran).toEqual(['ours', 'plain']));
    const calls = await sent(fn);
    expect(calls.filter(({ name }) => /^b/i.test(name))).toEqual([]);
    const heard = calls.filter(({ name }) => name === 'subscribe').flatMap(({ args }) => args);
    expect(heard).not.toContain(keysOf(fn).channel);
  });

  it('asks no more than once for jobs, and once what it leads, each time', async () => {
    const fn = rig.fn();
    await runWorker(polling(), fn, () => 'done');
    // The server knows the scripts, and the lists of the function were tended.
    const known: string[] = [];
    await until(async () => {
      for (const { name } of await sent(fn)) known.push(name);
      const claims = known.filter((name) => name === 'claim').length;
      return claims >= 3 && known.includes('look') && known.includes('trim');
    });
    const calls: string[] = [];
    await until(async () => {
      for (const { name } of await sent(fn)) calls.push(name);
      return calls.filter((name) => name === 'claim').length >= 8;
    });
    expect(calls.filter((name) => name === 'look').length).toBeLessThanOrEqual(10);
    expect(new Set(calls)).toEqual(new Set(['claim', 'look']));
  });

  it('runs a busy function at full speed', async () => {
    const fn = rig.fn();
    let ran = 0;
    await rig.client.runMany(fn, Array.from({ length: 300 }));
    await runWorker(polling(NEVER_MS), fn, () => void (ran += 1));
    await eventually(() => expect(ran).toBe(300));
  });

  it('runs a job that is due, and tries one again, at its time and not at the next poll', async () => {
    const fn = rig.fn();
    const ran: unknown[] = [];
    await rig.client.run(fn, 'due', { delay: 300 });
    await rig.client.run(fn, 'again', { retry: { attempts: 2, delay: 50 } });
    await runWorker(polling(NEVER_MS), fn, (input) => {
      ran.push(input);
      if (input === 'again' && ran.length === 1) throw new Error('once');
    });
    await eventually(() => expect(ran.toSorted()).toEqual(['again', 'again', 'due']));
  });

  it('tries a job again at its time though it had a free slot, and asked for none, when the job failed', async () => {
    const fn = rig.fn();
    let runs = 0;
    await rig.client.run(fn, 1);
    await runWorker(
      polling(NEVER_MS),
      fn,
      () => {
        if ((runs += 1) === 1) throw new Error('once');
      },
      { concurrency: 2, retry: { attempts: 2, delay: 50 } },
    );
    await eventually(() => expect(runs).toBe(2));
  });

  it('creates recurring jobs at their times', async () => {
    const fn = rig.fn();
    const ran: unknown[] = [];
    await rig.client.recur(fn, { id: fn, every: '1s', input: 'tick' });
    await runWorker(polling(), fn, (input) => void ran.push(input));
    await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(2));
  });

  it('shares jobs with a worker that waits in a blocking call, and takes over what that led', async () => {
    const fn = rig.fn();
    const ran: string[] = [];
    const { worker } = await runWorker(rig.source(), fn, () => void ran.push('waits'));
    await runWorker(polling(), fn, () => void ran.push('polls'));
    await rig.client.run(fn, 1);
    await eventually(() => expect(ran).toHaveLength(1));
    await worker.stop(0);
    await submit(rig.redis, fn, '2');
    await eventually(() => expect(ran.at(1)).toBe('polls'));
    await eventually(async () => expect(await rig.redis.exists(keysOf(fn).leader)).toBe(1));
  });

  it('has leases and presence that last for some polls', async () => {
    const fn = rig.fn();
    const source = polling(10_000);
    await runWorker(source, fn, () => 'done');
    const [, until] = await rig.redis.zrange(keysOf(fn).workers, '0', '-1', 'WITHSCORES');
    expect(Number(until) - Date.now()).toBeGreaterThan(30_000);
  });

  it('tells the server how often it polls, by which that tells an outage', async () => {
    const fn = rig.fn();
    const tells = async () => (await sent(fn)).map(({ name, args }) => ({ name, args }));
    const told: { name: string; args: readonly string[] }[] = [];
    await runWorker(polling(POLL_MS + 1), fn, () => 'done');
    await until(async () => {
      told.push(...(await tells()));
      return told.some(({ name }) => name === 'look') && told.some(({ name }) => name === 'claim');
    });
    for (const name of ['claim', 'look'])
      expect(told.find((call) => call.name === name)?.args).toContain(String(POLL_MS + 1));
  });

  it('gives back what it leads when it stops, and asks no more', async () => {
    const fn = rig.fn();
    const { worker } = await runWorker(polling(), fn, () => 'done');
    await until(async () => (await rig.redis.exists(keysOf(fn).leader)) === 1);
    await worker.stop(0);
    await expect(rig.redis.exists(keysOf(fn).leader)).resolves.toBe(0);
    await expect(rig.redis.zcard(keysOf(fn).workers)).resolves.toBe(0);
  });
});
