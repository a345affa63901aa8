import { clearTimeout, setTimeout } from 'node:timers';
import { messageOf } from '../../../job/errors.js';
import type { Claim, Outcome } from '../../../job/job-source.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import type { KeysOf } from '../../core/wire/protocol.js';
import { addStatistics } from './stored-counts.js';
import type { JobCounting } from '../../core/source/source-features.js';
import type { Problems } from '../../core/source/problems.js';
import { TIME_BOUNDS, TIME_COUNTS } from '../../../job/statistics.js';

/** How long counts are collected before one call for each function writes them. */
const INTERVAL_MS = 5000;
/** How long writing may take when the worker closes. */
const CLOSE_MS = 2000;

/**
 * Counts what this worker does and writes it every few seconds, so that statistics cost a job nothing on the server.
 * What was counted since is lost with the process.
 */
export class StatisticsWriter implements JobCounting {
  private readonly functions = new Map<string, JobCounts>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keysOf: KeysOf,
    private readonly problems: Problems,
  ) {}

  claimed(claims: readonly Claim[]): void {
    for (const { fn, waited } of claims) if (waited !== undefined) this.of(fn).waited(waited);
  }

  /** @param refused claims whose outcomes were not accepted */
  settled(outcomes: readonly Outcome[], refused: readonly Claim[]): void {
    const gone = refused.length > 0 ? new Set(refused) : undefined;
    for (const outcome of outcomes) if (!gone?.has(outcome.claim)) this.of(outcome.claim.fn).ended(outcome);
  }

  /** Writes what was counted, unless the server can't be reached. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.writing;
    await this.write(CLOSE_MS);
  }

  private of(fn: string): JobCounts {
    let counts = this.functions.get(fn);
    if (!counts) this.functions.set(fn, (counts = new JobCounts()));
    // Fake timers of a test don't concern these.
    if (!this.closed) this.timer ??= setTimeout(() => this.due(), INTERVAL_MS).unref();
    return counts;
  }

  private due(): void {
    this.timer = undefined;
    // Counts wait for a connection: sent to one that is not ready, a call could be made twice.
    if (this.connection.isReady) this.writing = this.write();
    else this.timer = setTimeout(() => this.due(), INTERVAL_MS).unref();
  }

  /** A call that fails is not repeated: it may have been made. */
  private async write(timeout?: number): Promise<void> {
    const counted = [...this.functions];
    this.functions.clear();
    try {
      if (counted.length === 0 || !this.connection.isReady) return;
      const redis = await this.connection.ready(timeout);
      await Promise.all(
        counted.map(([fn, counts]) => addStatistics(redis, this.keysOf(fn).statistics, counts.take())),
      );
    } catch (error) {
      this.problems.report('statistics', `Statistics were not written: ${messageOf(error)}`);
    }
  }
}

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

/** The number of the class of a time, in milliseconds. */
export function classOf(ms: number): number {
  const found = TIME_BOUNDS.findIndex((bound) => ms <= bound);
  return found < 0 ? TIME_BOUNDS.length : found;
}
