import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BulkRuns, type BulkWork } from '../../lib/dashboard/bulk-runs.js';
import { gate } from '../support/gate.js';

describe('runs of the dashboard', () => {
  const startIn = (runs: BulkRuns, work: BulkWork) =>
    runs.start({
      ...{ i: 'default', fn: 'mail', action: 'retry', user: 'ada', of: 1 },
      work,
      begins: () => undefined,
      ended: () => undefined,
    });

  it('are at most ten at the same time', async () => {
    const runs = new BulkRuns();
    const { passed, open } = gate();
    const start = () => startIn(runs, () => passed.then(() => 1));
    for (let begun = 0; begun < 10; begun++) start();
    expect(start).toThrow('10 runs are under way');
    open();
    await nextTurn();
    expect(runs.all('ada').map(({ state }) => state)).toEqual(Array.from({ length: 10 }, () => 'done'));
    expect(start()).toBeTruthy();
  });

  it('are kept when they have ended, the latest hundred', async () => {
    const runs = new BulkRuns();
    let last = '';
    for (let begun = 0; begun < 120; begun++) {
      last = startIn(runs, async () => 1);
      await nextTurn();
    }
    const kept = runs.all('ada');
    expect([kept.length, kept.at(-1)?.id]).toEqual([100, last]);
  });
});
