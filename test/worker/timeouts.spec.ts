import { describe, expect, it } from '@jest/globals';
import type { Claim } from '../../lib/job/job-source.js';
import { Observable } from 'rxjs';
import { JobTimeoutError } from '../../lib/job/abort-errors.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { progress } from '../../lib/job/job.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { useMemory } from '../embedded/use-memory.js';
import { gate } from '../support/gate.js';
import { holdEventLoop } from '../support/hold-event-loop.js';
import { runWorker } from '../support/run-worker.js';

const TIMEOUT_MS = 30;

describe('JobWorker, when a job runs longer than its timeout', () => {
  const rig = useMemory();

  const never = () => new Promise(() => undefined);
  const timedOut = (job: Promise<unknown>, ms = TIMEOUT_MS) =>
    expect(job).rejects.toMatchObject({
      code: 'JOB_FAILED',
      error: {
        name: 'JobTimeoutError',
        code: 'JOB_TIMEOUT',
        message: `Job 1 of "fn" ran longer than its timeout of ${ms} ms.`,
      },
    });

  it('fails it and aborts its signal', async () => {
    const reason = gate<unknown>();
    const handle = (_: unknown, { signal }: RunningJob) => {
      signal.addEventListener('abort', () => reason.open(signal.reason));
      return never();
    };
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS });
    await timedOut(rig.client.call('fn', 'x', { timeout: '5s' }));
    await expect(reason.passed).resolves.toBeInstanceOf(JobTimeoutError);
  });

  it('fails it also if it has blocked the process until then, so that no timer was in time', async () => {
    const handle = () => {
      holdEventLoop(2 * TIMEOUT_MS);
      return 'late';
    };
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS });
    await timedOut(rig.client.call('fn', 'x', { timeout: '5s' }));
  });

  it('lets its lease end a second later, for the case that the process hangs', async () => {
    const source = rig.source();
    const limits: [string, number][] = [];
    const setDeadline = ({ id }: Claim, ms: number) => void limits.push([id, ms]);
    Object.assign(source.leases ?? {}, { setDeadline });
    await runWorker(source, 'fn', (input) => input, { timeout: TIMEOUT_MS });
    await expect(rig.client.call('fn', 'x', { timeout: '5s' })).resolves.toBe('x');
    // Its outcome may have to wait for a slow line.
    expect(limits).toEqual([
      ['1', TIMEOUT_MS + 1000],
      ['1', Infinity],
    ]);
  });

  it('does not affect a job that is fast enough', async () => {
    let signal: AbortSignal | undefined;
    const handle = async (input: unknown, job: RunningJob) => {
      signal = job.signal;
      return input;
    };
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS });
    await expect(rig.client.call('fn', 'x', { timeout: '5s' })).resolves.toBe('x');
    await runWorker(rig.source(), 'other', never, { timeout: 2 * TIMEOUT_MS });
    await expect(rig.client.call('other', 'x', { timeout: '5s' })).rejects.toThrow('timeout');
    expect(signal?.aborted).toBe(false);
  });

  it.each([
    ['the definition', { timeout: TIMEOUT_MS }, {}, {}],
    ['the handler', { timeout: '1h' }, { timeout: TIMEOUT_MS }, {}],
    ['the job', { timeout: '1h' }, { timeout: '1h' }, { jobTimeout: TIMEOUT_MS }],
  ])('applies the timeout of %s', async (_, defined, handled, own) => {
    await runWorker(rig.source(), defineJob('fn', defined), never, handled);
    await timedOut(rig.client.call('fn', 'x', { ...own, timeout: '5s' }));
  });

  it('unsubscribes from an Observable', async () => {
    const left = gate();
    const handle = () => new Observable(() => () => left.open());
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS });
    await timedOut(rig.client.call('fn', 'x', { timeout: '5s' }));
    await expect(left.passed).resolves.toBeUndefined();
  });

  it('returns a generator at its next step', async () => {
    const [step, ended] = [gate(), gate()];
    const handle = async function* () {
      try {
        await step.passed;
        yield progress(1, 2);
        yield progress(2, 2);
      } finally {
        ended.open();
      }
    };
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS });
    await timedOut(rig.client.call('fn', 'x', { timeout: '5s' }));
    step.open();
    await expect(ended.passed).resolves.toBeUndefined();
    expect((await rig.client.get('fn', 1))?.progress).toBeUndefined();
  });

  it('frees its slot although the handler continues', async () => {
    const handle = (input: unknown) => (input === 'long' ? never() : input);
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS });
    await rig.client.run('fn', 'long');
    await expect(rig.client.call('fn', 'short', { timeout: '5s' })).resolves.toBe('short');
  });

  it('ignores the late result of a handler that ignored its signal', async () => {
    const [end, updated] = [gate(), gate<unknown>()];
    const { said } = await runWorker(
      rig.source(),
      'fn',
      async (input, job) => {
        if (input === 'short') return input;
        await end.passed;
        await job.update(1, 2).catch(updated.open);
        return 'too late';
      },
      { timeout: TIMEOUT_MS },
    );
    await timedOut(rig.client.call('fn', 'long', { timeout: '5s' }));
    end.open();
    await expect(updated.passed).resolves.toBeInstanceOf(JobTimeoutError);
    await expect(rig.client.call('fn', 'short', { timeout: '5s' })).resolves.toBe('short');
    const job = await rig.client.getOrThrow('fn', 1);
    expect(job).toMatchObject({ state: 'failed', error: { code: 'JOB_TIMEOUT' }, attempts: 1 });
    expect([job.output, job.progress]).toEqual([undefined, undefined]);
    expect(said).toEqual([expect.stringContaining('fn 1 failed for good (attempt 1 of 1): JobTimeoutError')]);
  });

  it('counts as a failed attempt that may be tried again', async () => {
    const handle = (input: unknown, { attempts }: RunningJob) => (attempts === 1 ? never() : input);
    const retry = { attempts: 2, delay: 1 };
    await runWorker(rig.source(), 'fn', handle, { timeout: TIMEOUT_MS, retry });
    await expect(rig.client.call('fn', 'x', { timeout: '5s' })).resolves.toBe('x');
    await expect(rig.client.get('fn', 1)).resolves.toMatchObject({
      attempts: 2,
      errors: [{ attempt: 1, code: 'JOB_TIMEOUT' }],
    });
  });

  it('fails each of many jobs at its own deadline', async () => {
    await runWorker(rig.source(), 'fn', never, { concurrency: 30 });
    const began = performance.now();
    const calls = Array.from({ length: 30 }, async (_, index) => {
      const jobTimeout = 30 + 10 * ((index * 7) % 30);
      await rig.client.call('fn', index, { jobTimeout, timeout: '10s' }).catch(() => undefined);
      return performance.now() - began - jobTimeout;
    });
    const late = await Promise.all(calls);
    expect(Math.min(...late)).toBeGreaterThan(-2);
  });
});
