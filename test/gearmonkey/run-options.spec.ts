import { describe, expect, it } from '@jest/globals';
import { KnownFunctions } from '../../lib/gearmonkey/core/client/known-functions.js';
import { placementOf, queueOf, type RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { placeUnique, uniqueOf } from '../../lib/gearmonkey/features/unique/unique.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { checkTags } from '../../lib/job/tags.js';

const NOW = 1_000_000;
const functions = new KnownFunctions({}, false, []);

describe('The options of a run', () => {
  it('have the time of a job in seconds, as the protocol does, and none before 1970', () => {
    expect(queueOf({ scheduled: new Date(1500) })).toEqual({ queue: 'scheduled', score: 1.5 });
    expect(queueOf({ scheduled: new Date(-1) })).toEqual({ queue: 'scheduled', score: 0 });
  });

  it.each<RunOptions>([
    {},
    { delay: '1m' },
    { scheduled: new Date(NOW + 5000) },
    { unique: { key: 'a', debounce: '1m' } },
  ])('leave the span of an expiry to the server, whose clock it goes by: %p', (options) => {
    const given = placeUnique.options(functions, 'fn', { ...options, expires: '1s' });
    const placement = placementOf(given, { now: NOW });
    expect(placement).toMatchObject({ expiresIn: 1000 });
    expect(placement).not.toHaveProperty('expires');
    expect(placement).not.toHaveProperty('options');
  });

  it('have a time of expiry as it was given', () => {
    const placement = placementOf({ expires: new Date(NOW + 1) }, { now: NOW });
    expect(placement).toEqual({ queue: 'normal', expires: NOW + 1, options: `{"expires":${NOW + 1}}` });
  });

  it('go before those of the definition: `unique: false` creates a job in any case', () => {
    const job = defineJob('fn', { unique: { key: 'a' } });
    expect(uniqueOf(functions, job, {})).toBe(job.unique);
    expect(uniqueOf(functions, job, { unique: false })).toBeUndefined();
    expect(uniqueOf(functions, job, { unique: { key: 'b', while: 'waiting' } })?.rule.kind).toBe('waiting');
  });

  // A character of three bytes.
  it.each([
    ['unique.key', 255],
    ['tags[0]', 128],
  ])('have %s of at most %i bytes, however many characters these are', (option, most) => {
    const use = (text: string) =>
      option === 'tags[0]' ? checkTags([text]) : uniqueOf(functions, 'fn', { unique: { key: text } });
    const [fits, tooLong] = ['x'.repeat(most), '€'.repeat(Math.ceil((most + 1) / 3))];
    expect(tooLong.length).toBeLessThan(most);
    expect(use(fits)).toBeDefined();
    expect(() => use(tooLong)).toThrow(`Expected \`${option}\` to be`);
  });

  it.each(['a\nb', '\0', 'a\u0085'])('have no tags with control characters: %j', (tag) => {
    expect(() => checkTags([tag])).toThrow('Expected `tags[0]` to be');
  });

  it('postpone a job by its whole span at least', () => {
    const options = { unique: { key: 'a', debounce: '2s', maxWait: '1s' } } as const;
    expect(() => uniqueOf(functions, 'fn', options)).toThrow('maxWait');
    expect(uniqueOf(functions, 'fn', { unique: { ...options.unique, maxWait: '2s' } })?.rule).toMatchObject({
      longest: 2000,
    });
  });
});
