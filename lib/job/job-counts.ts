import type { Outcome } from './job-source.js';
import { classOf, TIME_COUNTS } from './statistics.js';

/** Counts what happens to a function's jobs. */
export class JobCounts {
  private counts = new Map<string, number>();

  /** Counts a claim whose job has waited for `ms` milliseconds. */
  waited(ms: number): void {
    this.time('wait', ms);
  }

  /** Counts an outcome that was accepted. */
  ended({ status, took }: Pick<Outcome, 'status' | 'took'>): void {
    const kind = KINDS[status];
    if (kind === undefined) return;
    this.add(kind, 1);
    if (took !== undefined) this.time('run', took);
  }

  /** Returns what was counted since the last time. */
  take(): ReadonlyMap<string, number> {
    const { counts } = this;
    this.counts = new Map();
    return counts;
  }

  private time(kind: 'wait' | 'run', ms: number): void {
    const whole = Math.max(0, Math.round(ms));
    const { classes, sum } = TIME_COUNTS[kind];
    this.add(classes[classOf(whole)] as string, 1);
    if (whole > 0) this.add(sum, whole);
  }

  private add(kind: string, count: number): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + count);
  }
}

const KINDS: Readonly<Partial<Record<Outcome['status'], string>>> = {
  success: 'done',
  error: 'failed',
  retry: 'retried',
};
