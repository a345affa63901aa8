import type { JobStatistics, TimeStatistics } from '../job/statistics.js';

/** Adds up the statistics of functions, interval by interval. */
export function sumOf(all: readonly (readonly JobStatistics[])[]): JobStatistics[] {
  const sums = new Map<number, JobStatistics>();
  for (const one of all.flat()) {
    const known = sums.get(one.at.getTime());
    sums.set(one.at.getTime(), known ? added(known, one) : one);
  }
  return [...sums.values()].toSorted((one, other) => one.at.getTime() - other.at.getTime());
}

function added(one: JobStatistics, other: JobStatistics): JobStatistics {
  return {
    at: one.at,
    done: one.done + other.done,
    failed: one.failed + other.failed,
    retried: one.retried + other.retried,
    stalled: one.stalled + other.stalled,
    wait: addedTimes(one.wait, other.wait),
    run: addedTimes(one.run, other.run),
  };
}

function addedTimes(one: TimeStatistics, other: TimeStatistics): TimeStatistics {
  const count = one.count + other.count;
  const counts = new Map(one.classes.map(({ most, count: times }) => [most, times]));
  for (const { most, count: times } of other.classes) counts.set(most, (counts.get(most) ?? 0) + times);
  const classes = [...counts].map(([most, times]) => ({ most, count: times }));
  return {
    count,
    mean: count === 0 ? 0 : (one.mean * one.count + other.mean * other.count) / count,
    classes: classes.toSorted((a, b) => a.most - b.most),
  };
}
