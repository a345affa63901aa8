import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { Observable, of } from 'rxjs';
import { JobCancelledError } from '../../lib/job/abort-errors.js';
import { progress } from '../../lib/job/job.js';
import { settleResult } from '../../lib/worker/handler-result.js';
import { RunningJob } from '../../lib/worker/running-job.js';
import { gate } from '../support/gate.js';

const CLAIM = { fn: 'fn', id: '1', token: 1, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };

const RUN = { isLastAttempt: false, onAbort: () => undefined };

/** A running job, and what was reported of it. */
function running() {
  const reported: string[] = [];
  const update = async (_: unknown, dividend: number, divisor: number) =>
    reported.push(`${dividend}/${divisor}`) > 0;
  return { reported, job: new RunningJob({ progress: update }, CLAIM, 'input', RUN) };
}

const refuse = (): never => {
  throw new Error('out of order');
};

describe('settleResult', () => {
  it.each([
    ['an array', [1, 2]],
    ['a Map', new Map([[1, 2]])],
    ['an iterator of a Map', new Map([[1, 2]]).values()],
    ['an object with a next', { next: () => 1 }],
  ])('returns %s as the output', (_, value) => {
    expect(settleResult(value, running().job)).toBe(value);
  });

  it('runs synchronous generators too', async () => {
    const { job, reported } = running();
    const generator = function* () {
      yield progress(1, 2);
      yield Promise.resolve(progress(2, 2));
      return Promise.resolve('out');
    };
    await expect(settleResult(generator(), job)).resolves.toBe('out');
    expect(reported).toEqual(['1/2', '2/2']);
  });

  it('closes a generator whose job is aborted, so that its finally block runs', async () => {
    const { job } = running();
    let closed = false;
    const generator = function* () {
      try {
        yield Promise.reject(new Error('first'));
      } finally {
        closed = true;
      }
    };
    await expect(settleResult(generator(), job)).rejects.toThrow('first');
    expect(closed).toBe(true);
  });

  it('ends a generator at its next step when its job is aborted, whatever it yields', async () => {
    const { job } = running();
    const steps: string[] = [];
    const generator = function* () {
      try {
        for (const step of ['first', 'second', 'third']) {
          steps.push(step);
          job.abort(new JobCancelledError('fn', '1'));
          yield step;
        }
      } finally {
        steps.push('closed');
      }
    };
    await expect(settleResult(generator(), job)).rejects.toThrow(JobCancelledError);
    expect(steps).toEqual(['first', 'closed']);
  });

  it('unsubscribes from an Observable when its job is aborted', async () => {
    const { job } = running();
    let unsubscribed = 0;
    const output = settleResult(new Observable(() => () => (unsubscribed += 1)), job);
    job.abort(new JobCancelledError('fn', '1'));
    await expect(output).rejects.toThrow(JobCancelledError);
    expect(unsubscribed).toBe(1);
  });

  it('reports the progress of an Observable in its order, one part after the other', async () => {
    const [reported, first] = [[] as number[], gate()];
    const update = async (_: unknown, dividend: number) => {
      reported.push(dividend);
      if (dividend === 1) await first.passed;
      return true;
    };
    const job = new RunningJob({ progress: update }, CLAIM, 'input', RUN);
    const output = settleResult(of(progress(1, 2), progress(2, 2), 'out'), job);
    await turn();
    expect(reported).toEqual([1]);
    first.open();
    await expect(output).resolves.toBe('out');
    expect(reported).toEqual([1, 2]);
  });

  it.each([
    ['has no return', {}],
    ['throws from its return', { return: refuse }],
    ['rejects from its return', { return: () => Promise.reject(new Error('second')) }],
  ])('throws the first error of an async iterator that %s', async (_, more) => {
    const next = () => Promise.reject(new Error('first'));
    const iterator = { [Symbol.asyncIterator]: refuse, next, ...more };
    await expect(settleResult(iterator, running().job)).rejects.toThrow('first');
  });

  it('returns the last value that is no progress of an Observable, even if its teardown throws', async () => {
    const out = new Observable((observer) => {
      observer.next('out');
      observer.complete();
      return refuse;
    });
    await expect(settleResult(out, running().job)).rejects.toThrow('out of order');
    await expect(settleResult(of(progress(1, 1), 'out'), running().job)).resolves.toBe('out');
  });
});
