import { describe, expect, it } from '@jest/globals';
import { defined } from '../../lib/job/defined.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { BatchResultError, checkBatch, fail, later, ok, outcomesOf } from '../../lib/worker/batch.js';

describe('What a batch handler returns', () => {
  it('is one outcome for each of its jobs', () => {
    const outcomes = [ok('out'), fail(new Error('no')), later('1s')];
    expect(outcomesOf('fn', 3, outcomes)).toEqual(outcomes);
    expect(outcomes[0]?.take()).toBe('out');
    expect(() => outcomes[1]?.take()).toThrow('no');
    expect(() => outcomes[2]?.take()).toThrow(expect.objectContaining({ delay: 1000 }));
  });

  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    ['out', 'a string'],
    [[ok()], 'an array of 1'],
    [[ok(), ok(), ok()], 'an array of 3'],
    [[ok(), 'out'], 'an array with a string at 1'],
    [[{ take: () => 1 }, ok()], 'an array with another object at 0'],
  ])('is an error otherwise: %p', (returned, found) => {
    expect(() => outcomesOf('fn', 2, returned)).toThrow(BatchResultError);
    expect(() => outcomesOf('fn', 2, returned)).toThrow(`got 2 jobs and returned ${found}.`);
  });
});

describe('bindHandler', () => {
  it.each([
    ['1s', '1s', true],
    ['1s', '900ms', false],
    [undefined, '60s', false],
  ])('with a timeout of %s and a wait of %s', (timeout, wait, isRefused) => {
    const bind = () =>
      bindHandler(defineJob('fn', defined({ timeout })), { batch: { size: 2, wait } }, () => []);
    if (isRefused) expect(bind).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
    else expect(bind().batch?.free(1, 0)).toBe(2);
  });
});

describe('checkBatch', () => {
  it('has no wait unless one is given', () => {
    expect(checkBatch({ size: 1000 })).toEqual({ size: 1000, wait: 0 });
    expect(checkBatch({ size: 1, wait: '1m' })).toEqual({ size: 1, wait: 60_000 });
  });

  it.each([{ size: 0 }, { size: 1001 }, { size: 1.5 }, { size: 1, wait: '61s' }, { size: 1, wait: -1 }])(
    'refuses %p',
    (options) => {
      expect(() => checkBatch(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    },
  );
});
