import { describe, expect, it } from '@jest/globals';
import { BadRequestException } from '@nestjs/common';
import { once } from 'node:events';
import { z } from 'zod';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { printable } from '../../lib/job/printable.js';
import { RetryLaterError, UnrecoverableError } from '../../lib/job/retry.js';
import type { JobHandler } from '../../lib/worker/job-handler.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { inLines } from '../../lib/worker/worker-log.js';
import { useMemory } from '../embedded/use-memory.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

describe('printable', () => {
  it('escapes line breaks and terminal control characters only', () => {
    expect(printable('a\nb\r\tc\u0000\u001b[31m\u007f\u009b\u2028é日')).toBe(
      'a\\nb\\r\\tc\\u0000\\u001b[31m\\u007f\\u009b\\u2028é日',
    );
  });

  it('escapes what turns the direction of a line, and leaves texts of such scripts', () => {
    expect(printable('17\u202ednegroF\u2066x\u2069 שלום')).toBe('17\\u202ednegroF\\u2066x\\u2069 שלום');
  });
});

describe('inLines', () => {
  it('escapes the line and the texts of its fields, and leaves the lines of a stack apart', () => {
    const said: unknown[] = [];
    const keep = (...parts: unknown[]) => void said.push(parts);
    inLines({ warn: keep, error: keep }).warn('a\nb', {
      fn: '\u001b[2J',
      error: { message: 'x\r\ny', stack: '    at a\u009b\n    at b' },
      jobs: [{ id: '\n' }],
      attempt: 1,
    });
    expect(said).toEqual([
      [
        'a\\nb',
        {
          fn: '\\u001b[2J',
          error: { message: 'x\\r\\ny', stack: '    at a\\u009b\n    at b' },
          jobs: [{ id: '\\n' }],
          attempt: 1,
        },
      ],
    ]);
  });

  it('logs information as a warning if the log has no level for it, and leaves out debug lines', () => {
    const said: string[] = [];
    const log = inLines({ warn: (line) => void said.push(line), error: () => undefined });
    log.log('back');
    log.debug('detail');
    expect(said).toEqual(['back']);
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
  ])('logs once that a job failed by %s', async (_, thrown, reason) => {
    await expect(saidOf(throwing(thrown))).resolves.toEqual([
      `fn 1 failed for good (attempt 1 of 1): ${reason}`,
    ]);
  });

  it('logs each failed attempt', async () => {
    const retry = { attempts: 2, backoff: 'fixed', delay: 1, jitter: 0 } as const;
    await expect(saidOf(throwing(new RangeError('boom')), { retry })).resolves.toEqual([
      'fn 1 failed (attempt 1 of 2, next in 1 ms): RangeError: boom',
      'fn 1 failed for good (attempt 2 of 2): RangeError: boom',
    ]);
  });

  it('logs a timeout, an output that is not serializable, and an input that its schema refuses', async () => {
    const hang = () => new Promise(() => undefined);
    await expect(saidOf(hang, { timeout: 10 })).resolves.toEqual([
      expect.stringContaining('fn 1 failed for good (attempt 1 of 1): JobTimeoutError: '),
    ]);
    const checked = defineJob('checked', { input: z.object({ to: z.email() }) });
    const { said } = await runWorker(rig.source(), checked, () => 10n);
    // Enqueued by who knows no schema.
    await rig.client.run('checked', { to: 'SECRET' }, { blocking: true, timeout: '10s' });
    await rig.client.run('checked', { to: 'ada@example.com' }, { blocking: true, timeout: '10s' });
    expect(said).toEqual([
      expect.stringContaining('checked 1 failed for good (attempt 1 of 1): ValidationError: '),
      expect.stringContaining('checked 2 failed for good (attempt 1 of 1): NotSerializableError: '),
    ]);
    expect(said.join()).not.toContain('SECRET');
  });

  it('calls jobs that were put off, cancelled or given back no failures', async () => {
    const later = (_: unknown, { attempts }: RunningJob) => {
      if (attempts === 1) throw new RetryLaterError(1);
    };
    await expect(saidOf(later)).resolves.toEqual([]);
    const aborted: unknown[] = [];
    const waiting: JobHandler = async (input, { signal }: RunningJob) => {
      await once(signal, 'abort');
      aborted.push(input);
      throw signal.reason;
    };
    const { worker, said } = await runWorker(rig.source(), 'waiting', waiting, { concurrency: 2 });
    const [first, second] = await rig.client.runMany('waiting', [1, 2]);
    await eventually(async () => expect((await second?.get())?.state).toBe('running'));
    await rig.client.cancel('waiting', first?.id ?? '');
    await eventually(async () => expect((await first?.get())?.state).toBe('cancelled'));
    await eventually(() => expect(aborted).toEqual([1]));
    await worker.stop(0);
    await expect(second?.get()).resolves.toMatchObject({ state: 'waiting' });
    expect(said).toEqual([`Gave back jobs that still ran: waiting ${second?.id}`]);
  });
});
