import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Counts } from '../../engine/administration.js';
import type { PushOutcome } from '../../engine/operations.js';
import type { Tally } from '../../engine/turn.js';
import { optionalPackage } from '../../../package/optional-package.js';

type PromClient = typeof import('prom-client');

const WAIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const PUSH_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** What jobs can come to, by the tally of a turn. */
const EVENTS = {
  enqueued: 'enqueued',
  cancelled: 'cancelled',
  done: 'done',
  error: 'error',
  retried: 'retried',
  timedOut: 'timed_out',
  lost: 'lost',
} as const;

interface Instruments {
  readonly registry: Registry;
  readonly jobs: Gauge;
  readonly workers: Gauge;
  readonly redis: Gauge;
  readonly events: Counter;
  readonly waits: Histogram;
  readonly pushes: Histogram;
}

/**
 * Figures for Prometheus. Counters and histograms are of this master's doing, to be summed over masters; gauges
 * are of Redis, and the same on all. Without prom-client nothing is counted.
 */
export class JqMetrics {
  private constructor(private readonly instruments: Instruments | undefined) {}

  /** @throws ConfigurationError */
  static async load(wanted: boolean | undefined): Promise<JqMetrics> {
    const client = await optionalPackage('prom-client', () => import('prom-client'), wanted);
    return new JqMetrics(client && instrumentsOf(client));
  }

  count({ waits, ...tally }: Tally): void {
    if (!this.instruments) return;
    for (const event of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) {
      if (tally[event] > 0) this.instruments.events.inc({ event: EVENTS[event] }, tally[event]);
    }
    for (const wait of waits) this.instruments.waits.observe(wait / 1000);
  }

  pushed(outcome: PushOutcome['status'], ms: number): void {
    this.instruments?.pushes.observe({ outcome }, ms / 1000);
  }

  /** The text of Prometheus, with the counts if Redis gave them; `undefined` when there are no metrics. */
  async text(counts: Counts | undefined): Promise<{ type: string; text: string } | undefined> {
    if (!this.instruments) return undefined;
    const { registry, jobs, workers: known, redis } = this.instruments;
    redis.set(counts ? 1 : 0);
    jobs.reset();
    known.remove();
    if (counts) {
      const { workers, ...byStatus } = counts;
      known.set(workers);
      for (const [status, count] of Object.entries(byStatus)) jobs.set({ status }, count);
    }
    return { type: registry.contentType, text: await registry.metrics() };
  }
}

function instrumentsOf({
  Counter,
  Gauge,
  Histogram,
  Registry,
  collectDefaultMetrics,
}: PromClient): Instruments {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    jobs: new Gauge({ name: 'jq_jobs', help: 'Jobs by status.', labelNames: ['status'], registers }),
    workers: new Gauge({ name: 'jq_workers', help: 'Workers that are known.', registers }),
    redis: new Gauge({ name: 'jq_redis_up', help: 'Whether Redis answers.', registers }),
    events: new Counter({
      name: 'jq_job_events_total',
      help: 'What jobs have come to; "retried" counts failures after which a job is tried again.',
      labelNames: ['event'],
      registers,
    }),
    waits: new Histogram({
      name: 'jq_dispatch_latency_seconds',
      help: 'From being enqueued until first handed to a worker.',
      buckets: WAIT_SECONDS,
      registers,
    }),
    pushes: new Histogram({
      name: 'jq_push_duration_seconds',
      help: 'Pushes by what the worker answered.',
      labelNames: ['outcome'],
      buckets: PUSH_SECONDS,
      registers,
    }),
  };
}
