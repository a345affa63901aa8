import { describe, expect, it } from '@jest/globals';
import { checkKeep, KEPT_MS, keepRules, type KeepOptions } from '../../lib/job/keep.js';
import { defineJob } from '../../lib/job/job-definition.js';

describe('keep', () => {
  it('is 25 hours and all jobs unless it says otherwise', () => {
    const all = { age: KEPT_MS, count: Infinity };
    expect(keepRules(checkKeep({}), undefined)).toEqual({ success: all, error: all });
  });

  it('has each value of a definition before that of the module', () => {
    const module = checkKeep({ success: { age: '1h', count: 1000 }, error: { age: '7d' } });
    const definition = defineJob('fn', { keep: { success: { age: '10m' } } });
    expect(keepRules(module, definition.keep)).toEqual({
      success: { age: 600_000, count: 1000 },
      error: { age: 7 * 86_400_000, count: Infinity },
    });
  });

  it.each([
    [{ success: { age: '59s' } }, 'keep.success.age'],
    [{ success: { age: 0 } }, 'keep.success.age'],
    [{ success: { age: Infinity } }, 'keep.success.age'],
    [{ error: { age: '101 years' } }, 'keep.error.age'],
    [{ error: { age: null } }, 'keep.error.age'],
    [{ error: { age: '3600' } }, 'keep.error.age'],
    [{ error: { count: 0 } }, 'keep.error.count'],
    [{ error: { count: 1.5 } }, 'keep.error.count'],
    [{ error: { count: '10' } }, 'keep.error.count'],
    [{ success: { count: Number.NaN } }, 'keep.success.count'],
  ])('refuses %p', (keep, option) => {
    const define = () => defineJob('fn', { keep: keep as unknown as KeepOptions });
    expect(define).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }));
  });

  it.each([[{ failed: {} }], [{ success: { ages: '1h' } }], [null], ['1h'], [{ success: null }], [[]]])(
    'refuses %p as a whole',
    (keep) => {
      expect(() => checkKeep(keep as unknown as KeepOptions)).toThrow(
        expect.objectContaining({ code: 'CONFIGURATION' }),
      );
    },
  );
});
