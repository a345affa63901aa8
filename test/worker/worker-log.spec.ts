import { describe, expect, it } from '@jest/globals';
import { BadRequestException } from '@nestjs/common';
import { once } from 'node:events';
import { z } from 'zod';
import type { RunOptions } from '../../lib/gearmonkey/client/run-options.js';
import type { Claim } from '../../lib/job/job-source.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { printable } from '../../lib/job/printable.js';
import { RetryLaterError, UnrecoverableError } from '../../lib/job/retry.js';
import type { JobHandler } from '../../lib/worker/job-handler.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { inLines, logFailure } from '../../lib/worker/worker-log.js';
import { useMemory } from '../memory/use-memory.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

/** A log that keeps its lines with their levels. */
function keeping() {
  const said: string[] = [];
  const at = (level: string) => (message: string) => void said.push(`${level} ${message}`);
  return { said, log: { warn: at('WARN'), error: at('ERROR') } };
}

const CLAIM = { fn: 'mail', id: '17' } as Claim;

describe('printable', () => {
  it('escapes what begins a line or steers a terminal, and leaves the rest', () => {
    expect(printable('a\nb\r\tc\u0000\u001b[31m\u007f\u009b\u2028é日')).toBe(
      'a\\nb\\r\\tc\\u0000\\u001b[31m\\u007f\\u009b\\u2028é日',
    );
  });
});

describe('logFailure', () => {
  const lines = (outcome: object, attempt = 1, attempts = 5) => {
    const { said, log } = keeping();
    logFailure(
      inLines(log),
      { claim: CLAIM, ...outcome } as Parameters<typeof logFailure>[1],
      attempt,
      attempts,
    );
    return said;
  };
  const error = { name: 'TypeError', message: 'no\nway' };

  it('warns where another attempt follows, and is an error where none does', () => {
    expect(lines({ status: 'retry', error, delay: 1500.4 }, 3)).toEqual([
      'WARN mail 17 failed (attempt 3 of 5, next in 1500 ms): TypeError: no\\nway',
    ]);
    expect(lines({ status: 'error', error }, 5)).toEqual([
      'ERROR mail 17 failed (attempt 5 of 5): TypeError: no\\nway',
    ]);
  });

  it('names no limit where the server counts the attempts', () => {
    expect(lines({ status: 'error', error }, 2, Infinity)).toEqual([
      'ERROR mail 17 failed (attempt 2): TypeError: no\\nway',
    ]);
    expect(lines({ status: 'retry', error, delay: 5 }, 2, Infinity)).toEqual([
      'WARN mail 17 failed (attempt 2): TypeError: no\\nway',
    ]);
  });

  it('keeps a line short', () => {
    const [line] = lines({ status: 'error', error: { name: 'Error', message: 'x'.repeat(9000) } });
    expect(line?.length).toBeLessThan(600);
  });

  it('says nothing of what has not failed', () => {
    expect(lines({ status: 'success', output: '' })).toEqual([]);
    expect(lines({ status: 'released' })).toEqual([]);
    const later = { name: 'RetryLaterError', message: 'not now', code: 'RETRY_LATER' };
    expect(lines({ status: 'retry', error: later, delay: 1 })).toEqual([]);
    expect(lines({ status: 'error', error: later })).toHaveLength(1);
  });
});

describe('A worker', () => {
  const rig = useMemory();

  /** What it said of one job, whose input is SECRET. */
  async function saidOf(handle: JobHandler, settings: WorkerSettings = {}, options: RunOptions = {}) {
    const { said } = await runWorker(rig.source(), 'fn', handle, settings);
    await rig.client.run('fn', 'SECRET', { ...options, blocking: true, timeout: '10s' });
    return said;
  }
  const throwing = (thrown: unknown) => () => {
    throw thrown;
  };

  it.each([
    ['an HttpException', new BadRequestException('no'), 'BadRequestException: no'],
    ['a text', 'text', 'Error: text'],
    ['an UnrecoverableError', new UnrecoverableError('never'), 'UnrecoverableError: never'],
  ])('says once that a job failed by %s', async (_, thrown, reason) => {
    await expect(saidOf(throwing(thrown))).resolves.toEqual([`fn 1 failed (attempt 1 of 1): ${reason}`]);
  });

  it('says so of each attempt', async () => {
    const retry = { attempts: 2, backoff: 'fixed', delay: 1, jitter: 0 } as const;
    await expect(saidOf(throwing(new RangeError('boom')), { retry })).resolves.toEqual([
      'fn 1 failed (attempt 1 of 2, next in 1 ms): RangeError: boom',
      'fn 1 failed (attempt 2 of 2): RangeError: boom',
    ]);
  });

  it('says so of a timeout, an output that is not serializable, and an input that its schema refuses', async () => {
    const hang = () => new Promise(() => undefined);
    await expect(saidOf(hang, { timeout: 10 })).resolves.toEqual([
      expect.stringContaining('fn 1 failed (attempt 1 of 1): JobTimeoutError: '),
    ]);
    const checked = defineJob('checked', { input: z.object({ to: z.email() }) });
    const { said } = await runWorker(rig.source(), checked, () => 10n);
    // Enqueued by who knows no schema.
    await rig.client.run('checked', { to: 'SECRET' }, { blocking: true, timeout: '10s' });
    await rig.client.run('checked', { to: 'ada@example.com' }, { blocking: true, timeout: '10s' });
    expect(said).toEqual([
      expect.stringContaining('checked 1 failed (attempt 1 of 1): ValidationError: '),
      expect.stringContaining('checked 2 failed (attempt 1 of 1): NotSerializableError: '),
    ]);
    expect(said.join()).not.toContain('SECRET');
  });

  it('says nothing of jobs that were put off, cancelled or given back', async () => {
    const later = (_: unknown, { attempts }: RunningJob) => {
      if (attempts === 1) throw new RetryLaterError(1);
    };
    await expect(saidOf(later)).resolves.toEqual([]);
    const waiting: JobHandler = async (_, { signal }: RunningJob) => {
      await once(signal, 'abort');
      throw signal.reason;
    };
    const { worker, said } = await runWorker(rig.source(), 'waiting', waiting, { concurrency: 2 });
    const [first, second] = await rig.client.runMany('waiting', [1, 2]);
    await eventually(async () => expect((await second?.get())?.status).toBe('busy'));
    await rig.client.cancel('waiting', first?.id ?? '');
    await eventually(async () => expect((await first?.get())?.status).toBe('error'));
    await worker.stop(0);
    await expect(second?.get()).resolves.toMatchObject({ status: 'idle' });
    expect(said).toEqual([]);
  });
});
