import { JobCounts } from '../job/job-counts.js';
import type { Outcome } from '../job/job-source.js';
import { KEPT_HOURS, type Counts } from '../job/statistics.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A function's statistics, each hour with the names that its hash has on Redis. */
export class MemoryStatistics {
  private readonly hours = new Map<number, Map<string, number>>();

  waited(ms: number, now: number): void {
    const counts = new JobCounts();
    counts.waited(ms);
    this.add(counts.take(), now);
  }

  ended(outcome: Pick<Outcome, 'status' | 'took'>, now: number): void {
    const counts = new JobCounts();
    counts.ended(outcome);
    this.add(counts.take(), now);
  }

  /** Counts a claim that ended because its worker was lost; with `isLast` the job failed. */
  stalled(isLast: boolean, now: number): void {
    this.add(new Map([['stalled', 1], ...(isLast ? [['failed', 1] as const] : [])]), now);
  }

  read(hours: readonly number[]): Counts[] {
    return hours.map((hour) => this.hours.get(hour) ?? new Map());
  }

  private add(counts: Counts, now: number): void {
    const hour = Math.floor(now / HOUR_MS);
    const minute = Math.floor(now / MINUTE_MS) % 60;
    const kept = this.hours.get(hour) ?? this.begin(hour);
    for (const [kind, count] of counts)
      for (const field of [`${minute}:${kind}`, `:${kind}`]) kept.set(field, (kept.get(field) ?? 0) + count);
  }

  private begin(hour: number): Map<string, number> {
    const begun = new Map<string, number>();
    this.hours.set(hour, begun);
    for (const old of this.hours.keys()) if (old < hour - KEPT_HOURS) this.hours.delete(old);
    return begun;
  }
}
