import type { Counter, Gauge, Histogram } from 'prom-client';
import type { Counts } from '../../engine/administration.js';
import type { PushOutcome } from '../../engine/operations.js';
import type { Tally } from '../../engine/turn.js';
import { Prometheus, type MetricsText } from '../../../metrics/prometheus.js';

const WAIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const PUSH_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Outcomes of jobs, from the tally of a turn. */
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
  readonly metrics: Prometheus;
  readonly jobs: Gauge;
  readonly workers: Gauge;
  readonly redis: Gauge;
  readonly events: Counter;
  readonly waits: Histogram;
  readonly pushes: Histogram;
}

/**
 * Metrics for Prometheus. Counters and histograms are this master's, to be summed over masters; gauges are read from
 * Redis, and equal on all. Without prom-client nothing is counted.
 */
export class JqMetrics {
  private constructor(private readonly instruments: Instruments | undefined) {}

  /** @throws MissingPackageError */
  static async load(wanted: boolean | undefined): Promise<JqMetrics> {
    const metrics = await Prometheus.load(wanted);
    return new JqMetrics(metrics && instrumentsOf(metrics));
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

  /** The text for Prometheus, with counts if Redis gave them; `undefined` without metrics. */
  async text(counts: Counts | undefined): Promise<MetricsText | undefined> {
    if (!this.instruments) return undefined;
    const { metrics, jobs, workers: known, redis } = this.instruments;
    redis.set(counts ? 1 : 0);
    jobs.reset();
    known.remove();
    if (counts) {
      const { workers, ...byStatus } = counts;
      known.set(workers);
      for (const [status, count] of Object.entries(byStatus)) jobs.set({ status }, count);
    }
    return metrics.text();
  }
}

function instrumentsOf(metrics: Prometheus): Instruments {
  return {
    metrics,
    jobs: metrics.gauge('jq_jobs', 'Jobs by status.', ['status']),
    workers: metrics.gauge('jq_workers', 'Workers that are known.'),
    redis: metrics.gauge('jq_redis_up', 'Whether Redis answers.'),
    events: metrics.counter(
      'jq_job_events_total',
      'What jobs have come to; "retried" counts failures after which a job is tried again.',
      ['event'],
    ),
    waits: metrics.histogram(
      'jq_dispatch_latency_seconds',
      'From being enqueued until first handed to a worker.',
      { buckets: WAIT_SECONDS },
    ),
    pushes: metrics.histogram('jq_push_duration_seconds', 'Pushes by what the worker answered.', {
      buckets: PUSH_SECONDS,
      labelNames: ['outcome'],
    }),
  };
}
