import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { checkRun, placementOf } from '../lib/gearmonkey/core/client/run-options.js';
import { checkKeep } from '../lib/job/keep.js';
import { checkLimit } from '../lib/job/check-limit.js';
import { checkUnique } from '../lib/job/unique.js';
import { checkRetry } from '../lib/job/retry.js';

const TEXT = readFileSync(new URL('../docs/options.md', import.meta.url), 'utf8');
const key = () => 'x';

/** Options of which docs/options.md says that they may be up to 100 years. */
const LONG: Readonly<Record<string, (span: string) => unknown>> = {
  delay: (delay) => placementOf({ delay }, { now: 0 }),
  expires: (expires) => placementOf({ expires }, { now: 0 }),
  keep: (age) => checkKeep({ success: { age } }),
  throttle: (throttle) => checkUnique({ key, throttle }),
  debounce: (debounce) => checkUnique({ key, debounce }),
  maxWait: (maxWait) => checkUnique({ key, debounce: '1s', maxWait }),
  per: (per) => checkLimit('mail', { key, rate: { max: 1, per } }),
};
const SHORT: Readonly<Record<string, (span: string) => unknown>> = {
  timeout: (timeout) => checkRun({ blocking: true, timeout }),
  jobTimeout: (jobTimeout) => placementOf({ jobTimeout }, { now: 0 }),
  'retry.delay': (delay) => checkRetry({ attempts: 2, delay }),
};

describe('docs/options.md says the longest spans:', () => {
  const [, sentence = ''] = /What needs no timer may be up to 100 years: ([^;]*);/.exec(TEXT) ?? [];

  it.each(Object.entries(LONG))('%s may be 100 years and no longer', (name, check) => {
    expect(sentence).toContain(`\`${name}\``);
    expect(() => check('36525 days')).not.toThrow();
    expect(() => check('36526 days')).toThrow('at most 100 years');
  });

  it.each(Object.entries(SHORT))('%s may be 24 days and no longer', (name, check) => {
    expect(sentence).not.toContain(`\`${name}\``);
    expect(() => check('24 days')).not.toThrow();
    expect(() => check('25 days')).toThrow('at most 24 days');
  });
});
