import { describe, expect, it } from '@jest/globals';
import { NEVER, Observable } from 'rxjs';
import { z } from 'zod';
import { LeaseLostError, ShutdownError } from '../../lib/job/abort-errors.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { progress } from '../../lib/job/job.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { claimInOrder, claimOne } from '../contract/claiming.js';
import { memoryRig } from '../embedded/embedded-rig.js';
import { useMemory } from '../embedded/use-memory.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';

const LONG_MS = 20_000;
const HOUR_MS = 3_600_000;
const SHORT_LEASE_MS = 100;

describe('JobWorker.remove', () => {
  const rig = useMemory();

  it('releases a job whose claim arrives while others drain', async () => {
    const [started, end, claimed, arrive] = [gate(), gate(), gate(), gate()];
    const source = rig.source();
    const claim = source.claim.bind(source);
    let calls = 0;
    source.claim = async (slots, signal) => {
      const claims = await claim(slots, signal);
      if (++calls !== 2) return claims;
      claimed.open();
      await arrive.passed;
      return claims;
    };
    const handle = async () => {
      started.open();
      await end.passed;
    };
    const { worker } = await runWorker(source, 'fn', handle, { concurrency: 2 });
    await rig.client.run('fn', 'a');
    await started.passed;
    const late = await rig.client.run('fn', 'b');
    await claimed.passed;
    const removed = worker.remove('fn', LONG_MS);
    arrive.open();
    setImmediate(end.open);
    await removed;
    await expect(late.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
  });

  it('gives back at once what waits for a batch, the oldest in front', async () => {
    const source = rig.source();
    const batch = { size: 9, wait: '60s' };
    const { worker } = await runWorker(source, 'fn', () => [], { batch });
    const jobs = [await rig.client.run('fn', 'a'), await rig.client.run('fn', 'b')];
    const binding = worker['functions'].get('fn')?.binding;
    await until(() => binding?.batch?.waiting.length === 2);
    await worker.remove('fn', LONG_MS);
    const other = rig.source();
    await other.open(['fn']);
    for (const { id } of jobs) expect((await claimOne(other, 'fn')).id).toBe(id);
  });

  it.each(['remove', 'stop'] as const)(
    'gives back at once what comes to a batch after `%s`',
    async (ending) => {
      const [asked, valid] = [gate(), gate()];
      const input = z.string().refine(async () => {
        asked.open();
        await valid.passed;
        return true;
      });
      const batch = { size: 9, wait: '60s' };
      const { worker } = await runWorker(rig.source(), defineJob('fn', { input }), () => [], { batch });
      const job = await rig.client.run('fn', 'a');
      await asked.passed;
      const ended = ending === 'remove' ? worker.remove('fn', HOUR_MS) : worker.stop(HOUR_MS);
      valid.open();
      await ended;
      await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    },
  );

  it('gives back the jobs of its function alone', async () => {
    const [begun, end] = [gate(), gate<string>()];
    let runs = 0;
    const { worker } = await runWorker(rig.source(), 'fn', () => end.passed);
    await worker.add(
      bindHandler(defineJob('other'), {}, () => {
        runs += 1;
        begun.open();
        return end.passed;
      }),
    );
    const [job, other] = [await rig.client.run('fn', 'x'), await rig.client.run('other', 'x')];
    await begun.passed;
    await eventually(async () => expect((await job.get()).state).toBe('running'));
    await worker.remove('fn', 0);
    await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    end.open('out');
    await expect(other.result({ timeout: '5s' })).resolves.toBe('out');
    expect(runs).toBe(1);
  });

  it('does not wait for a server that another function is being announced to', async () => {
    const source = rig.source();
    const { worker, said } = await runWorker(source, 'fn', () => 'out');
    const open = source.open.bind(source);
    const answered = gate();
    source.open = async (functions, onRevoked) => {
      await answered.passed;
      await open(functions, onRevoked);
    };
    const adding = worker.add(bindHandler(defineJob('other'), {}, () => 'out'));
    await worker.remove('fn', LONG_MS);
    expect(worker.list()).toEqual([]);
    expect(said).toEqual(['Signing off from fn failed: not within 3000 ms']);
    answered.open();
    await adding;
    await eventually(() => expect(rig.workers('fn')).resolves.toBe(0));
  });

  it('stops the handler also if its source can not sign off', async () => {
    const source = rig.source();
    const withdraw = source.withdraw?.bind(source);
    source.withdraw = () => Promise.reject(new Error('no server'));
    const { worker, said } = await runWorker(source, 'fn', () => 'out');
    await worker.remove('fn', LONG_MS);
    if (withdraw) source.withdraw = withdraw;
    expect(worker.list()).toEqual([]);
    expect(said).toEqual(['Signing off from fn failed: no server']);
  });
});

describe('JobWorker.stop', () => {
  const rig = useMemory();

  const aborted = ({ signal }: RunningJob) =>
    new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));

  it('ends an idle worker and removes it from the count', async () => {
    const { worker } = await runWorker(rig.source(), 'fn', () => 'out');
    await worker.stop(LONG_MS);
    await expect(rig.workers('fn')).resolves.toBe(0);
    const job = await rig.client.run('fn', 'x');
    await expect(job.get()).resolves.toMatchObject({ state: 'waiting' });
  });

  it('closes its source when the last outcomes have been written', async () => {
    const [writing, written] = [gate(), gate()];
    const source = rig.source();
    const [settle, close] = [source.settle.bind(source), source.close.bind(source)];
    let isClosed = false;
    source.settle = async (outcomes) => {
      writing.open();
      await written.passed;
      return settle(outcomes);
    };
    source.close = () => {
      isClosed = true;
      return close();
    };
    const { worker } = await runWorker(source, 'fn', () => 'out');
    const job = await rig.client.run('fn', 'x');
    await writing.passed;
    const stopped = worker.stop(LONG_MS);
    // Longer than anything else that it does.
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    written.open();
    await stopped;
    expect(isClosed).toBe(true);
    await expect(job.result({ timeout: '5s' })).resolves.toBe('out');
  });

  it('lets running jobs finish and begins no more', async () => {
    const [started, end] = [gate(), gate()];
    const { worker } = await runWorker(rig.source(), 'fn', async () => {
      started.open();
      await end.passed;
      return 'out';
    });
    const [first, second] = await rig.client.runMany('fn', ['a', 'b']);
    await started.passed;
    const stopped = worker.stop(LONG_MS);
    end.open();
    await stopped;
    await expect(first?.get()).resolves.toMatchObject({ state: 'succeeded', output: 'out' });
    await expect(second?.get()).resolves.toMatchObject({ state: 'waiting' });
  });

  it('aborts and releases jobs that still run at the deadline', async () => {
    const [reason, started] = [gate<unknown>(), gate()];
    const { worker } = await runWorker(rig.source(), 'fn', async (_, job) => {
      void aborted(job).then(reason.open);
      started.open();
      await new Promise(() => undefined);
    });
    const job = await rig.client.run('fn', 'x');
    await started.passed;
    await worker.stop(50);
    await expect(reason.passed).resolves.toBeInstanceOf(ShutdownError);
    await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    await expect(claimOne(rig.source(), 'fn')).resolves.toMatchObject({ id: job.id, attempts: 1 });
  });

  it('releases many jobs in their order', async () => {
    const started = new Set<unknown>();
    const handle = (input: unknown) => {
      started.add(input);
      return new Promise(() => undefined);
    };
    const { worker } = await runWorker(rig.source(), 'fn', handle, { concurrency: 3 });
    await rig.client.runMany('fn', ['a', 'b', 'c', 'd']);
    await eventually(() => expect(started.size).toBe(3));
    await worker.stop(1);
    await expect(claimInOrder(rig.source(), 'fn', 4)).resolves.toEqual(['"a"', '"b"', '"c"', '"d"']);
  });

  it('aborts a signal that is first read after the deadline', async () => {
    const [started, end, seen] = [gate(), gate(), gate<boolean>()];
    const { worker } = await runWorker(rig.source(), 'fn', async (_, job) => {
      started.open();
      await end.passed;
      seen.open(job.signal.aborted);
      await expect(job.update(1, 2)).rejects.toThrow(ShutdownError);
    });
    await rig.client.run('fn', 'x');
    await started.passed;
    await worker.stop(10);
    end.open();
    await expect(seen.passed).resolves.toBe(true);
  });

  it('unsubscribes from an Observable at the deadline', async () => {
    const [started, left] = [gate(), gate()];
    const handle = () =>
      new Observable((subscriber) => {
        started.open();
        subscriber.next(progress(1, 2));
        subscriber.add(NEVER.subscribe());
        return () => left.open();
      });
    const { worker } = await runWorker(rig.source(), 'fn', handle);
    await rig.client.run('fn', 'x');
    await started.passed;
    await worker.stop(10);
    await expect(left.passed).resolves.toBeUndefined();
  });

  it('ends a generator at its next step', async () => {
    const [started, step, ended] = [gate(), gate(), gate()];
    const { worker } = await runWorker(rig.source(), 'fn', async function* () {
      try {
        started.open();
        await step.passed;
        yield 'a step';
        yield* [];
      } finally {
        ended.open();
      }
    });
    await rig.client.run('fn', 'x');
    await started.passed;
    await worker.stop(10);
    step.open();
    await expect(ended.passed).resolves.toBeUndefined();
  });

  it('does not run a job whose input is still being validated at the deadline', async () => {
    const [checking, checked] = [gate(), gate<boolean>()];
    const input = z.string().refine(() => {
      checking.open();
      return checked.passed;
    });
    let begun = false;
    const { worker } = await runWorker(rig.source(), defineJob('fn', { input }), () => (begun = true));
    const id = await rig.submit('fn', '"x"');
    await checking.passed;
    await worker.stop(10);
    checked.open(true);
    await new Promise(setImmediate);
    expect(begun).toBe(false);
    await expect(rig.client.get('fn', id)).resolves.toMatchObject({ state: 'waiting' });
  });
});

describe('JobWorker with a lease', () => {
  stopWorkersAfterEach();

  it('renews it while the handler runs', async () => {
    const rig = await memoryRig();
    const end = gate();
    await runWorker(rig.source({ lease: SHORT_LEASE_MS }), 'fn', () => end.passed);
    const job = await rig.client().run('fn', 'x');
    const abort = new AbortController();
    const stolen = rig.source().claim(new SlotTable([['fn', 1]]), abort.signal);
    const start = performance.now();
    await until(() => performance.now() - start > 4 * SHORT_LEASE_MS);
    abort.abort();
    await expect(stolen).resolves.toEqual([]);
    end.open();
    await expect(job.result({ timeout: '5s' })).resolves.toBeNull();
  });

  it('aborts a job whose renewal says that it is lost', async () => {
    const rig = await memoryRig();
    const source = Object.assign(rig.source(), { renewInterval: 5 });
    const reason = gate<unknown>();
    source.renew = async (claims) => claims;
    const { said } = await runWorker(source, 'fn', async (_, job) => {
      job.signal.addEventListener('abort', () => reason.open(job.signal.reason));
      await reason.passed;
    });
    const { id } = await rig.client().run('fn', 'x');
    await expect(reason.passed).resolves.toBeInstanceOf(LeaseLostError);
    expect(said).toEqual([`fn ${id} went to another worker because its lease expired.`]);
  });

  it('aborts a job that lost it, and settles no outcome', async () => {
    const rig = await memoryRig();
    const [started, reason, end] = [gate<RunningJob>(), gate<unknown>(), gate()];
    const { said } = await runWorker(rig.source(), 'fn', async (_, job) => {
      job.signal.addEventListener('abort', () => reason.open(job.signal.reason));
      started.open(job);
      await end.passed;
      return 'old';
    });
    const { id } = await rig.client().run('fn', 'x');
    const running = await started.passed;
    await rig.source().settle([{ claim: running.claim, status: 'released' }]);
    const holder = rig.source();
    const held = await claimOne(holder, 'fn');
    await expect(running.update(1, 2)).rejects.toThrow(LeaseLostError);
    await expect(reason.passed).resolves.toBeInstanceOf(LeaseLostError);
    end.open();
    await expect(holder.settle([{ claim: held, status: 'success', output: 'new' }])).resolves.toEqual([]);
    await expect(rig.stored('fn', id)).resolves.toEqual({ status: 'success', output: 'new' });
    expect(said).toEqual([]);
  });
});
