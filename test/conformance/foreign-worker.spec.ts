import { afterEach, describe, expect, it } from '@jest/globals';
import { JobFailedError, NoWorkersError } from '../../lib/job/errors.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { PythonActor, stopActors } from './python-actor.js';
import { bytes, ChannelLog, expectFinished, protocolFields, ranOnce, text, upper } from './wire.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { inFullTier } from '../support/tier.js';

const BINARY = Buffer.from([0, 97, 255, 10, 195, 40, 34, 122]);
const BINARY_UPPER = Buffer.from([0, 65, 255, 10, 195, 40, 34, 90]);

const rig = useGearMonkey();

afterEach(stopActors);

describe('Our client, with a worker in Python', () => {
  async function python(fn: string, ...args: (string | number)[]): Promise<PythonActor> {
    const actor = new PythonActor('worker', [rig.url, fn, ...args]);
    await expect(actor.line()).resolves.toEqual({ ready: true });
    return actor;
  }

  it('creates the fields of the protocol', async () => {
    const fn = rig.fn();
    const log = await ChannelLog.open(rig.redis, fn);
    await rig.client.run(text(fn), 'hello');
    expect(protocolFields(await rig.redis.hgetall(`job:${fn}:1`))).toEqual({
      status: 'idle',
      input: 'hello',
    });
    await expect(rig.redis.ttl(`job:${fn}:1`)).resolves.toBe(-1);
    await expect(rig.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
    await rig.client.run(text(fn), 'later', { scheduled: new Date(4_000_000_000_500) });
    await expect(rig.redis.zscore(`queue:${fn}:scheduled`, '2')).resolves.toBe('4000000000.5');
    await expect(rig.redis.get(`uid:${fn}`)).resolves.toBe('2');
    await expect(log.close()).resolves.toEqual(['create:1', 'create:2']);
  });

  it('gets the output', async () => {
    const fn = rig.fn();
    const log = await ChannelLog.open(rig.redis, fn);
    await python(fn);
    await expect(rig.client.call(text(fn), 'hello', { timeout: '10s' })).resolves.toBe('HELLO');
    await eventually(async () => expect(await rig.redis.ttl(`lock:${fn}:1`)).toBeGreaterThan(0));
    await expectFinished(rig.redis, fn, 1, { status: 'success', input: 'hello', output: 'HELLO' });
    await expect(rig.client.get(text(fn), 1)).resolves.toMatchObject({ attempts: 0, output: 'HELLO' });
    await expect(log.close()).resolves.toEqual(ranOnce(1));
  });

  it('gets the message of an error', async () => {
    const fn = rig.fn();
    await python(fn, '--fail', 'disk full');
    const calling = rig.client.call(text(fn), 'x', { timeout: '10s' });
    await expect(calling).rejects.toThrow(JobFailedError);
    await expect(calling).rejects.toMatchObject({ error: { name: 'Error', message: 'disk full' } });
    const job = await rig.client.run(text(fn), 'x', { blocking: true, timeout: '10s' });
    await expect(job.get()).resolves.toMatchObject({ state: 'failed' });
  });

  it('schedules a job', async () => {
    const fn = rig.fn();
    await python(fn);
    const due = Date.now() + 700;
    const job = await rig.client.run(text(fn), 'later', {
      scheduled: new Date(due),
      blocking: true,
      timeout: '10s',
    });
    expect(Date.now()).toBeGreaterThanOrEqual(due);
    await expect(job.result()).resolves.toBe('LATER');
  });

  inFullTier(() => {
    it('has its jobs run by priority', async () => {
      const fn = rig.fn();
      for (const priority of ['low', 'normal', 'high'] as const) {
        await rig.client.run(text(fn), priority, { priority });
      }
      await rig.client.run(text(fn), 'due', { scheduled: new Date(0) });
      const actor = await python(fn, '--max-jobs', 4);
      const order: (string | undefined)[] = [];
      for (let line = 0; line < 8; line++) order.push((await actor.line()).input);
      expect(order.filter(Boolean)).toEqual(['due', 'high', 'normal', 'low']);
    });

    it('counts it in a roll call', async () => {
      const fn = rig.fn();
      await expect(rig.client.rollCall(fn)).rejects.toThrow(NoWorkersError);
      const actor = await python(fn);
      await expect(rig.client.rollCall(fn)).resolves.toBe(1);
      await runWorker(rig.source(), text(fn), upper);
      await expect(rig.client.rollCall(fn)).resolves.toBe(2);
      await actor.stop();
      await stopWorkers();
      await expect(rig.client.rollCall(fn)).rejects.toThrow(NoWorkersError);
    });
  });

  it('sends bytes and gets bytes', async () => {
    const fn = rig.fn();
    await python(fn);
    const output = await rig.client.call(bytes(fn), BINARY, { timeout: '10s' });
    expect(Buffer.from(output)).toEqual(BINARY_UPPER);
  });

  inFullTier(() => {
    it('gets progress that is not published', async () => {
      const fn = rig.fn();
      const log = await ChannelLog.open(rig.redis, fn);
      const job = await rig.client.run(text(fn), 'x');
      const seen = { one: new Set<number>(), all: new Set<number>(), watched: new Set<number>() };
      const ended = gate();
      const subscriptions = [
        job.progress$.subscribe({ next: ({ dividend }) => seen.one.add(dividend), complete: ended.open }),
        rig.client.progress(fn).subscribe(({ dividend }) => seen.all.add(dividend)),
        rig.client
          .watch(text(fn), job.id)
          .subscribe(({ progress }) => progress && seen.watched.add(progress.dividend)),
      ];
      await eventually(async () => expect((await rig.redis.pubsub('NUMSUB', `channel:${fn}`))[1]).toBe(2));
      await python(fn, '--updates', 100);
      await ended.passed;
      for (const subscription of subscriptions) subscription.unsubscribe();
      for (const dividends of Object.values(seen)) {
        expect(dividends.size).toBeGreaterThan(1);
        expect([...dividends]).toEqual([...dividends].sort((a, b) => a - b));
      }
      await expect(log.close()).resolves.toEqual(ranOnce(job.id));
      expect(log.progress).toEqual([]);
    });

    it('has each job run once beside our workers', async () => {
      const fn = rig.fn();
      const log = await ChannelLog.open(rig.redis, fn);
      await python(fn);
      await runWorker(rig.source(), text(fn), upper, { concurrency: 3 });
      const inputs = Array.from({ length: 40 }, (_, i) => `job ${i}`);
      const jobs = await rig.client.runMany(text(fn), inputs);
      const outputs = await Promise.all(jobs.map((job) => job.result({ timeout: '20s' })));
      expect(outputs).toEqual(inputs.map(upper));
      expect((await log.close()).sort()).toEqual(jobs.flatMap(({ id }) => ranOnce(id)).sort());
    });
  });
});
