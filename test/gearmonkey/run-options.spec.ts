import { describe, expect, it } from '@jest/globals';
import { placementOf, queueOf, uniqueOf, type RunOptions } from '../../lib/gearmonkey/client/run-options.js';
import { checkUnique } from '../../lib/job/unique.js';

const NOW = 1_000_000;

describe('The options of a run', () => {
  it('have the time of a job in seconds, as the protocol does, and none before 1970', () => {
    expect(queueOf({ scheduled: new Date(1500) })).toEqual({ queue: 'scheduled', score: 1.5 });
    expect(queueOf({ scheduled: new Date(-1) })).toEqual({ queue: 'scheduled', score: 0 });
  });

  it.each<[RunOptions, number]>([
    [{}, NOW],
    [{ delay: '1m' }, NOW + 60_000],
    [{ scheduled: new Date(NOW + 5000) }, NOW + 5000],
    [{ unique: { key: 'a', debounce: '1m' } }, NOW + 60_000],
  ])('count the span of an expiry from when the job may run: %p', (options, due) => {
    const unique = uniqueOf(options, undefined)?.rule;
    const { expires } = placementOf({ ...options, expires: '1s' }, { now: NOW, unique });
    expect(expires).toBe(due + 1000);
  });

  it('go before those of the definition: `unique: false` creates a job in any case', () => {
    const ofDefinition = checkUnique({ key: 'a' });
    expect(uniqueOf({}, ofDefinition)).toBe(ofDefinition);
    expect(uniqueOf({ unique: false }, ofDefinition)).toBeUndefined();
    expect(uniqueOf({ unique: { key: 'b', while: 'waiting' } }, ofDefinition)?.rule.kind).toBe('waiting');
  });
});
