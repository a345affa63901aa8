import { describe, expect, it } from '@jest/globals';
import {
  InvalidOptionError,
  NotSerializableError,
  UnreadablePayloadError,
  ValidationError,
} from '../../lib/job/errors.js';
import {
  checkRetry,
  retryDelay,
  RetryLaterError,
  UnrecoverableError,
  type RetryOptions,
} from '../../lib/job/retry.js';

const error = new Error('no');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The waits after each attempt until there is none, with this much chance. */
function waits(retry: RetryOptions | undefined, random = 0, thrown: unknown = error): number[] {
  const delays: number[] = [];
  for (let attempt = 1; attempt <= 20; attempt++) {
    const delay = retryDelay(retry, attempt, thrown, () => random);
    if (delay === undefined) return delays;
    delays.push(delay);
  }
  return delays;
}

describe('checkRetry', () => {
  it.each([
    ['retry.attempts', { attempts: 0 }],
    ['retry.attempts', { attempts: -1 }],
    ['retry.attempts', { attempts: 1.5 }],
    ['retry.attempts', { attempts: Number.NaN }],
    ['retry.attempts', { attempts: Infinity }],
    ['retry.attempts', { attempts: 1001 }],
    ['retry.attempts', { attempts: '3' as unknown as number }],
    ['retry.backoff', { backoff: 'x' as 'fixed' }],
    ['retry.backoff', { backoff: null as unknown as 'fixed' }],
    ['retry.delay', { delay: -1 }],
    ['retry.delay', { delay: 0 }],
    ['retry.delay', { delay: 'soon' }],
    ['retry.max', { max: -1 }],
    ['retry.max', { max: '25 days' }],
    ['retry.jitter', { jitter: 2 }],
    ['retry.jitter', { jitter: -0.1 }],
    ['retry.jitter', { jitter: Number.NaN }],
    ['retry.jitter', { jitter: '0.5' as unknown as number }],
  ] as [string, RetryOptions][])('refuses a bad `%s`: %p', (option, retry) => {
    expect(() => checkRetry(retry)).toThrow(InvalidOptionError);
    expect(() => checkRetry(retry)).toThrow(`Expected \`${option}\` to be`);
  });

  it.each([
    {},
    { attempts: 1 },
    { attempts: 1000 },
    { backoff: () => 5 },
    { jitter: 0 },
    { jitter: 1, delay: '1s', max: '1d' },
  ] as RetryOptions[])('accepts %p', (retry) => {
    expect(checkRetry(retry)).toEqual(retry);
  });
});

describe('retryDelay', () => {
  it.each([undefined, {}, { attempts: 1 }])('is undefined with %p', (retry) => {
    expect(waits(retry)).toEqual([]);
  });

  it.each([
    ['an UnrecoverableError', new UnrecoverableError('hopeless')],
    ['a ValidationError', new ValidationError('fn', 'input', [{ path: 'a', message: 'is missing' }])],
    ['an output that can not be written', new NotSerializableError('fn', 'output', 'json', error)],
    ['an UnreadablePayloadError', new UnreadablePayloadError('fn', 'input', 'json', 'it is not UTF-8')],
  ])('is undefined after %s, with any options', (_, hopeless) => {
    expect(waits({ attempts: 10 }, 0, hopeless)).toEqual([]);
  });

  it('is that of any error after a payload of another job could not be written', () => {
    expect(waits({ attempts: 2 }, 0, new NotSerializableError('fn', 'input', 'json', error))).toEqual([1000]);
  });

  it('doubles from one second to one hour by default', () => {
    const delays = waits({ attempts: 20 });
    expect(delays.slice(0, 5)).toEqual([1000, 2000, 4000, 8000, 16_000]);
    expect(delays).toHaveLength(19);
    expect(delays.slice(12)).toEqual(Array.from({ length: 7 }, () => HOUR));
  });

  it('is randomly shortened by at most a fifth by default', () => {
    expect(waits({ attempts: 3 }, 1)).toEqual([800, 1600]);
    expect(waits({ attempts: 3 }, 0.5)).toEqual([900, 1800]);
  });

  it.each([
    ['none', 0, [100, 100]],
    ['half', 0.5, [50, 50]],
    ['all', 1, [0, 0]],
  ])('makes %s of a wait random', (_, jitter, expected) => {
    expect(waits({ attempts: 3, backoff: 'fixed', delay: 100, jitter }, 1)).toEqual(expected);
  });

  it('is the same each time when it is fixed', () => {
    expect(waits({ attempts: 4, backoff: 'fixed', delay: '2s' })).toEqual([2000, 2000, 2000]);
  });

  it('is never more than `max`', () => {
    expect(waits({ attempts: 5, delay: 10, max: 25 })).toEqual([10, 20, 25, 25]);
    expect(waits({ attempts: 3, backoff: 'fixed', delay: '1m', max: '2s' })).toEqual([2000, 2000]);
    expect(waits({ attempts: 3, backoff: () => 500, max: 25 })).toEqual([25, 25]);
    expect(waits({ attempts: 3, backoff: () => Infinity, max: 25 })).toEqual([25, 25]);
    expect(waits({ attempts: 3, backoff: () => '2s' })).toEqual([2000, 2000]);
    expect(waits({ attempts: 3, backoff: () => '0s' })).toEqual([0, 0]);
  });

  it('never overflows', () => {
    expect(retryDelay({ attempts: 1000, jitter: 0 }, 999, error)).toBe(HOUR);
  });

  it('is the result of a function of the attempt and the error', () => {
    const asked: unknown[] = [];
    const backoff = (...args: unknown[]) => asked.push(args) * 10;
    expect(waits({ attempts: 4, backoff }, 1)).toEqual([10, 20, 30]);
    expect(asked).toEqual([
      [1, error],
      [2, error],
      [3, error],
    ]);
  });

  it.each([-1, Number.NaN, '5', undefined])('refuses %p returned by a function', (result) => {
    const retry = { attempts: 2, backoff: () => result as number };
    expect(() => retryDelay(retry, 1, error)).toThrow('Expected `the result of retry.backoff` to be');
  });

  describe('after a RetryLaterError', () => {
    it.each([-1, 0, 'soon', Number.NaN])('can not be %p', (delay) => {
      expect(() => new RetryLaterError(delay)).toThrow(InvalidOptionError);
    });

    it('is exactly its delay, without jitter, maximum or retry options', () => {
      const later = new RetryLaterError('10m');
      expect(retryDelay(undefined, 1, later, () => 1)).toBe(10 * MINUTE);
      expect(retryDelay({ attempts: 3, max: 5 }, 2, later, () => 1)).toBe(10 * MINUTE);
    });

    it('is undefined after the last attempt, or after a thousand', () => {
      expect(retryDelay({ attempts: 3 }, 3, new RetryLaterError(1))).toBeUndefined();
      expect(retryDelay(undefined, 999, new RetryLaterError(1))).toBe(1);
      expect(retryDelay(undefined, 1000, new RetryLaterError(1))).toBeUndefined();
    });
  });
});
