import { describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { Rounds, type Census } from './rounds.js';
import { judge, table } from './series.js';
import { ROUND_TICKS, TICK_JOBS } from './soak.job.js';

describe('judge', () => {
  const bound = { part: 0.1, amount: 2 };
  const judged = (values: number[]) => judge({ name: 'keys', unit: '', values }, bound);

  it('accepts figures that are constant or fall', () => {
    expect(judged(Array<number>(20).fill(100)).holds).toBe(true);
    expect(judged(Array.from({ length: 20 }, (_, at) => 200 - at)).holds).toBe(true);
  });

  it('ignores growth at the beginning and single peaks', () => {
    const values = Array.from({ length: 40 }, (_, at) => (at < 10 ? at * 10 : 100));
    values[35] = 1000;
    expect(judged(values)).toMatchObject({ beginning: 100, end: 100, highest: 1000, holds: true });
  });

  it('detects growth beyond the limit', () => {
    const verdict = judged(Array.from({ length: 20 }, (_, at) => 100 + at * 5));
    expect(verdict.holds).toBe(false);
    expect(table([verdict])).toMatch(/^keys +\d+ +\d+ +\d+ +\d+ +GROWS$/m);
  });

  it('fails without figures', () => {
    expect(judged([]).holds).toBe(false);
  });
});

/** Rounds that fill caches and pools, and rounds that must add nothing to them. */
const WARM_UP = 2;
const ROUNDS = 4;
/** Something kept for one job of each tick would be more; what was measured is 3. */
const MOST_OBJECTS = ROUND_TICKS * ROUNDS;
/** Arrays of its own the event loop fills and empties: up to 60 items. */
const MOST_ITEMS = (ROUND_TICKS * TICK_JOBS * ROUNDS) / 2;

const mostOf = (what: string) =>
  what.startsWith('items') ? MOST_ITEMS : /^(objects|entries) of/.test(what) ? MOST_OBJECTS : 0;

/** What there is more of, by how much. */
function growth(before: Census, after: Census): string[] {
  return Object.entries(after).flatMap(([what, count]) => {
    const more = count - (before[what] ?? 0);
    return more > mostOf(what) ? [`${what}: ${more} more`] : [];
  });
}

describe('a short soak', () => {
  it('finds no more connections, timers, objects, entries or keys after more of the same work', async () => {
    const rounds = await Rounds.open();
    try {
      await rounds.work(WARM_UP);
      const before = await rounds.census();
      await rounds.work(ROUNDS);
      // What a beat or a timer holds for a moment is gone a moment later.
      let grown: string[] = [];
      await until(async () => (grown = growth(before, await rounds.census())).length === 0, {
        timeout: 30_000,
        message: 'Something grows',
        seen: () => grown,
      });
      await expect(rounds.close()).resolves.toEqual([]);
    } finally {
      await rounds.stop();
    }
  }, 300_000);

  it('detects growth', () => {
    const before = { 'objects of client': 9, 'Timeout of client': 1, connected_clients: 2 };
    const after = { 'objects of client': 60, 'Timeout of client': 2, connected_clients: 2, 'key a': 1 };
    expect(growth(before, after)).toEqual([
      'objects of client: 51 more',
      'Timeout of client: 1 more',
      'key a: 1 more',
    ]);
  });
});
