import { describe, expect, it } from '@jest/globals';
import { JobCancelledError, LeaseLostError } from '../../lib/job/abort-errors.js';
import { InvalidOptionError } from '../../lib/job/errors.js';
import { RunningJob } from '../../lib/worker/running-job.js';
import { runProgram, TYPESCRIPT_WITHOUT_MAPS } from '../support/test-process.js';

const CLAIM = { fn: 'fn', id: '1', token: 1, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };

const RUN = { isLastAttempt: false, onAbort: () => undefined };

/** A job whose updates are answered so. */
const jobOf = (progress: () => Promise<boolean>) => new RunningJob({ progress }, CLAIM, 'input', RUN);

/** Node reports an unhandled rejection after the microtasks of a tick; Jest then fails the test. */
const ticks = async () => {
  for (let tick = 0; tick < 3; tick++) await new Promise(setImmediate);
};

describe('RunningJob.update', () => {
  it.each([
    ['the lease is lost', () => Promise.resolve(false), LeaseLostError],
    ['the source is closed', () => Promise.reject(new Error('closed')), Error],
  ])('rejects when %s, without an unhandled rejection if it is not awaited', async (_, answer, error) => {
    const job = jobOf(answer);
    void job.update(1, 2);
    await ticks();
    await expect(job.update(1, 2)).rejects.toThrow(error);
  });

  it('need not be awaited for a cancelled job or with invalid numbers', async () => {
    const job = jobOf(() => Promise.resolve(true));
    void job.update(Number.NaN, 2);
    await expect(job.update(1, 0)).rejects.toThrow(InvalidOptionError);
    job.abort(new JobCancelledError('fn', '1'));
    void job.update(1, 2);
    await ticks();
    expect(job.signal.reason).toBeInstanceOf(JobCancelledError);
  });
});

/** Node warns a process, and Jest's `process` is a copy. */
const LISTEN = `
const { RunningJob } = await import(${JSON.stringify(new URL('../../lib/worker/running-job.ts', import.meta.url).href)});
const { signal } = new RunningJob({}, { input: '' }, 'input', () => undefined);
const other = new AbortController().signal;
process.on('warning', ({ target }) => console.log(target === other ? 'other' : 'job'));
for (const one of [signal, other])
  for (let count = 0; count < 11; count++) one.addEventListener('abort', () => undefined);
`;

describe('RunningJob.signal', () => {
  it('may have any number of listeners, of which Node warns otherwise', async () => {
    const args = [...TYPESCRIPT_WITHOUT_MAPS, '--input-type=module', '--eval', LISTEN];
    const { stdout } = await runProgram(process.execPath, args);
    expect(stdout).toBe('other\n');
  });
});

describe('RunningJob.abort', () => {
  it('aborts the signal once, with the first reason, whether it was read before or is read later', () => {
    for (const readsBefore of [true, false]) {
      const ended: unknown[] = [];
      const job = new RunningJob({ progress: async () => true }, CLAIM, 'input', {
        isLastAttempt: false,
        onAbort: (reason) => ended.push(reason),
      });
      const before = readsBefore ? job.signal : undefined;
      const reason = new JobCancelledError('fn', '1');
      job.abort(reason);
      job.abort(new LeaseLostError('fn', '1'));
      expect((before ?? job.signal).reason).toBe(reason);
      expect(ended).toEqual([reason]);
    }
  });
});
