import type { Counter, Gauge, Histogram } from 'prom-client';
import type { Counts } from '../../engine/administration.js';
import type { JobStatus, PushOutcome } from '../../engine/operations.js';
import type { Tally } from '../../engine/turn.js';
import { Prometheus, type MetricsText } from '../../../metrics/prometheus.js';

const WAIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const PUSH_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

const SYSTEM = { system: 'jq' } as const;

/** The names that all systems have for the states of jobs. */
const STATES: Record<JobStatus, string> = {
  queued: 'waiting',
  running: 'running',
  retrying: 'retrying',
  error: 'failed',
  done: 'succeeded',
};

/** How jobs end, from the tally of a turn. */
const OUTCOMES = { done: 'succeeded', error: 'failed', cancelled: 'cancelled' } as const;

interface Instruments {
  readonly metrics: Prometheus;
  readonly jobs: Gauge;
  readonly workers: Gauge;
  readonly connected: Gauge;
  readonly counters: Readonly<Record<'enqueued' | 'retried' | 'lost' | 'timedOut', Counter>>;
  readonly finished: Counter;
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
    const { counters, finished, waits: waited } = this.instruments;
    for (const [event, counter] of Object.entries(counters) as [keyof typeof counters, Counter][])
      if (tally[event] > 0) counter.inc(SYSTEM, tally[event]);
    for (const [event, outcome] of Object.entries(OUTCOMES) as [keyof typeof OUTCOMES, string][])
      if (tally[event] > 0) finished.inc({ ...SYSTEM, outcome }, tally[event]);
    for (const wait of waits) waited.observe(SYSTEM, wait / 1000);
  }

  pushed(outcome: PushOutcome['status'], ms: number): void {
    this.instruments?.pushes.observe({ outcome }, ms / 1000);
  }

  /** The text for Prometheus, with counts if Redis gave them; `undefined` without metrics. */
  async text(counts: Counts | undefined): Promise<MetricsText | undefined> {
    if (!this.instruments) return undefined;
    const { metrics, jobs, workers: known, connected } = this.instruments;
    connected.set({ name: 'redis' }, counts ? 1 : 0);
    jobs.reset();
    known.reset();
    if (counts) {
      const { workers, ...byStatus } = counts;
      known.set(SYSTEM, workers);
      for (const [status, count] of Object.entries(byStatus) as [JobStatus, number][])
        jobs.set({ ...SYSTEM, state: STATES[status] }, count);
    }
    return metrics.text();
  }
}

function instrumentsOf(metrics: Prometheus): Instruments {
  const counter = (name: string, help: string) => metrics.counter(name, help, ['system']);
  return {
    metrics,
    jobs: metrics.gauge('gearmonkey_jobs', 'Jobs by state.', ['system', 'state']),
    workers: metrics.gauge('gearmonkey_workers', 'Workers that are known.', ['system']),
    connected: metrics.gauge('gearmonkey_connected', 'Whether Redis answers.', ['name']),
    counters: {
      enqueued: counter('gearmonkey_jobs_enqueued_total', 'Jobs that were enqueued.'),
      retried: counter('gearmonkey_retries_total', 'Attempts that failed and are tried again.'),
      lost: counter('gearmonkey_leases_lost_total', 'Running jobs whose worker was lost.'),
      timedOut: counter('jq_timeouts_total', 'Attempts that took longer than their timeout.'),
    },
    finished: metrics.counter('gearmonkey_jobs_finished_total', 'Jobs that ended, by outcome.', [
      'system',
      'outcome',
    ]),
    waits: metrics.histogram(
      'gearmonkey_job_wait_seconds',
      'From being enqueued until first handed to a worker.',
      { buckets: WAIT_SECONDS, labelNames: ['system'] },
    ),
    pushes: metrics.histogram('jq_push_duration_seconds', 'Pushes by what the worker answered.', {
      buckets: PUSH_SECONDS,
      labelNames: ['outcome'],
    }),
  };
}
