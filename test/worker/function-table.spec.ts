import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import { FunctionTable } from '../../lib/worker/function-slots.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { claimOf } from './kept-records.js';

const binding = (fn: string, concurrency = 1) => bindHandler(defineJob(fn), { concurrency }, () => undefined);

describe('FunctionTable', () => {
  it('has the free slots of each function, until it is deleted', () => {
    const table = new FunctionTable([binding('a'), binding('b', 3)], false);
    expect([table.names, table.free.of('a'), table.free.of('b')]).toEqual([['a', 'b'], 1, 3]);
    table.delete('b');
    expect([table.names, table.free.functions()]).toEqual([['a'], ['a']]);
  });

  it('has the slot of a claim again that is dropped while it waits', () => {
    const table = new FunctionTable([binding('fn')], true);
    const slots = table.get('fn');
    const claims = [1, 2, 3, 4, 5, 6].map((run) => claimOf(run));
    // One short run lets four jobs be claimed ahead.
    const first = claimOf(0);
    slots?.take(first, 0);
    slots?.ended(first, 0.25);
    expect(claims.map((claim) => slots?.take(claim, 0))).toEqual([true, false, false, false, false, false]);
    table.update('fn');
    expect(table.free.of('fn')).toBe(0);
    for (const claim of claims.slice(1, 3)) expect(table.drop(claim)).toBe(true);
    expect(table.free.of('fn')).toBe(1);
    expect([table.drop(claimOf(2)), table.drop({ ...claimOf(3), fn: 'other' })]).toEqual([false, false]);
  });
});
