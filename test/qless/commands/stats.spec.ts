import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly std: number;
  readonly histogram: readonly number[];
}
interface Stats {
  readonly wait: Summary;
  readonly run: Summary;
}

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

describe('stats', () => {
  const qless = useQless();
  const read = (date = 0) => qless.json<Stats>('stats', 0, 'q', date);
  const wait = async (jid: string, put: number, popped: number) => {
    await qless.q('put', put, 'p', 'q', jid, 'k', '{}', 0);
    await qless.pop(popped, 1);
  };

  refuses(qless, [
    [['stats', 0], 'Stats(): Arg "queue" missing'],
    [['stats', 0, 'q'], 'Stats(): Arg "date" missing or not a number: nil'],
    [['stats', 0, 'q', 'x'], 'Stats(): Arg "date" missing or not a number: x'],
  ]);

  it('is all noughts for a day on which nothing was', async () => {
    const none = { count: 0, mean: 0, std: 0, histogram: Array<number>(148).fill(0) };
    await expect(read()).resolves.toEqual({ retries: 0, failed: 0, failures: 0, wait: none, run: none });
  });

  it.each([
    [0, 0],
    [0.9, 0],
    [1, 1],
    [59.9 * SECOND, 59],
    [MINUTE, 60],
    [59 * MINUTE + 59, 118],
    [HOUR, 119],
    [23 * HOUR + 3599, 141],
    [DAY, 142],
    [6 * DAY + 86_399, 147],
  ])('has a wait of %d s in bin %d', async (seconds, bin) => {
    await wait('jid', 10 * DAY - seconds, 10 * DAY);
    const { histogram } = (await read(10 * DAY)).wait;
    expect(histogram).toHaveLength(148);
    expect(histogram.flatMap((count, at) => (count > 0 ? [[at, count]] : []))).toEqual([[bin, 1]]);
  });

  it('counts each wait in its bin, from the shortest to the longest', async () => {
    const bins = [
      ...Array.from({ length: 60 }, (_, n) => [n * SECOND, SECOND] as const),
      ...Array.from({ length: 59 }, (_, n) => [(n + 1) * MINUTE, MINUTE] as const),
      ...Array.from({ length: 23 }, (_, n) => [(n + 1) * HOUR, HOUR] as const),
      ...Array.from({ length: 6 }, (_, n) => [(n + 1) * DAY, DAY] as const),
    ];
    const waits = bins.flatMap(([from, width]) => [from, from + width - 0.25]);
    for (const [n, seconds] of waits.entries()) {
      await qless.q('put', 10 * DAY - seconds, 'p', 'q', `j${n}`, 'k', '{}', 0);
    }
    await qless.pop(10 * DAY, 250);
    await qless.pop(10 * DAY, 250);
    const { count, mean, std, histogram } = (await read(10 * DAY)).wait;
    expect(histogram).toEqual(Array<number>(148).fill(2));
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const average = sum(waits) / waits.length;
    const deviation = Math.sqrt(sum(waits.map((wait) => (wait - average) ** 2)) / (waits.length - 1));
    expect(count).toBe(296);
    expect(mean).toBeCloseTo(average, 3);
    expect(std).toBeCloseTo(deviation, 3);
  });

  it('has the mean and the standard deviation of the sample', async () => {
    for (const [i, seconds] of [2, 4, 4, 4, 5, 5, 7, 9].entries()) await wait(`j${i}`, 100 - seconds, 100);
    const { wait: summary } = await read();
    expect(summary).toMatchObject({ count: 8, mean: 5 });
    expect(summary.std).toBeCloseTo(Math.sqrt(32 / 7), 9);
  });

  it('is the same for jobs that are popped together', async () => {
    for (const [i, seconds] of [2, 4, 4, 4, 5, 5, 7, 9].entries()) {
      await qless.q('put', 100 - seconds, 'p', 'q', `j${i}`, 'k', '{}', 0);
    }
    await qless.pop(100);
    const { wait: summary } = await read();
    expect(summary).toMatchObject({ count: 8, mean: 5 });
    expect(summary.std).toBeCloseTo(Math.sqrt(32 / 7), 9);
    expect(summary.histogram.slice(0, 10)).toEqual([0, 0, 1, 0, 3, 2, 0, 1, 0, 1]);
  });

  it('counts runs on the day on which they ended', async () => {
    await wait('jid', DAY - 20, DAY - 10);
    await qless.q('complete', DAY + 5, 'jid', 'w', 'q', '{}');
    await expect(read(DAY - 1)).resolves.toMatchObject({ wait: { count: 1, mean: 10 }, run: { count: 0 } });
    await expect(read(DAY)).resolves.toMatchObject({
      wait: { count: 0 },
      run: { count: 1, mean: 15, std: 0 },
    });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'stats', [
      [['q'], [], 'Stats(): Got 1, expected 0 KEYS'],
      [[], ['q', 'x'], 'Stats(): Arg "date" missing or not a number: x'],
    ]);

    it('gives the same', async () => {
      await wait('jid', 0, 3);
      await expect(qless.legacy('stats', [], 'q', 0)).resolves.toBe(await qless.q('stats', 0, 'q', 0));
    });
  });
});
