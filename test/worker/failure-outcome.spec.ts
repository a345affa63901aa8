import { describe, expect, it } from '@jest/globals';
import { HoldKeyError } from '../../lib/job/limit-errors.js';
import { SnoozeError, UnrecoverableError } from '../../lib/job/retry.js';
import { ALL_CAPABILITIES } from '../../lib/job/source-capabilities.js';
import { failureOf, type FailureRules } from '../../lib/worker/job-execution.js';
import { claimOf } from './kept-records.js';

const claim = claimOf(1);
const rules: FailureRules = {
  ...{ retry: { attempts: 2, backoff: 'fixed', delay: 5, jitter: 0 }, attempt: 1, hasLimit: true },
  ...{ capabilities: ALL_CAPABILITIES, errorDetail: 'message', maxPayloadBytes: 1000 },
};

describe('The outcome of a handler that has thrown', () => {
  const outcomeOf = (thrown: unknown, more: Partial<FailureRules> = {}) =>
    failureOf(claim, thrown, { ...rules, ...more });
  const error = (message: unknown) => ({ error: expect.objectContaining({ message }) });

  it('is a retry while there are attempts, and then an error', () => {
    expect(outcomeOf(new Error('no'))).toEqual({ claim, status: 'retry', delay: 5, ...error('no') });
    expect(outcomeOf(new Error('no'), { attempt: 2 })).toEqual({ claim, status: 'error', ...error('no') });
    expect(outcomeOf(new UnrecoverableError('never'))).toEqual({ claim, status: 'error', ...error('never') });
  });

  it('is an error if the backoff function of the handler throws, and that is the error', () => {
    const backoff = (): never => {
      throw new Error('in backoff');
    };
    expect(outcomeOf(new Error('no'), { retry: { attempts: 2, backoff } })).toEqual({
      ...{ claim, status: 'error' },
      ...error('in backoff'),
    });
  });

  it('is a snooze or a held key where there are such, or else an error that says what to do', () => {
    expect(outcomeOf(new SnoozeError('1s'))).toEqual({ claim, status: 'snoozed', delay: 1000 });
    expect(outcomeOf(new HoldKeyError('1s'))).toEqual({ claim, status: 'held', delay: 1000 });
    const others = { hasLimit: false, capabilities: { ...ALL_CAPABILITIES, snooze: false } };
    for (const [thrown, says] of [
      [new SnoozeError('1s'), 'Throw a RetryLaterError here.'],
      [new HoldKeyError('1s'), 'Give its definition one, or throw a SnoozeError.'],
    ] as const)
      expect(outcomeOf(thrown, others)).toMatchObject({
        status: 'error',
        ...error(expect.stringContaining(says)),
      });
  });
});
