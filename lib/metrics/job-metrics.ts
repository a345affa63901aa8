import { Counter, Histogram, type Registry } from 'prom-client';
import {
  instrumentation,
  subscribeTo,
  type InstrumentedEvent,
  type SettleEvent,
} from '../job/instrumentation.js';
import type { Claim, Outcome } from '../job/job-source.js';
import { FunctionLabels } from './function-labels.js';

/** From moments to half an hour. */
const WAIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
/** From moments to an hour. */
const RUN_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];
const TURN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** In `gearmonkey_jobs_finished_total`, by the status of an outcome. */
const FINISHED: Partial<Record<Outcome['status'], string>> = { success: 'succeeded', error: 'failed' };

const JOB_LABELS = ['system', 'fn'] as const;
type JobLabel = (typeof JOB_LABELS)[number];

/** Counters and histograms of the jobs of this process, from its instrumentation. */
export class JobMetrics {
  private readonly finished: Counter<JobLabel | 'outcome'>;
  private readonly enqueued: Counter<JobLabel>;
  private readonly retries: Counter<JobLabel>;
  private readonly lost: Counter<JobLabel>;
  private readonly waits: Histogram<JobLabel>;
  private readonly runs: Histogram<JobLabel>;
  private readonly turns: Histogram<'fn'>;
  private readonly stops: (() => void)[];

  constructor(
    private readonly registry: Registry,
    private readonly labels: FunctionLabels,
  ) {
    this.enqueued = this.counter('gearmonkey_jobs_enqueued_total', 'Jobs that clients here enqueued.');
    this.finished = new Counter({
      name: 'gearmonkey_jobs_finished_total',
      help: 'Jobs that ended here, by outcome: success, failed, or cancelled while they ran.',
      labelNames: [...JOB_LABELS, 'outcome'],
      registers: [registry],
    });
    this.retries = this.counter('gearmonkey_retries_total', 'Attempts that failed and are tried again.');
    this.lost = this.counter('gearmonkey_leases_lost_total', 'Running jobs that went to another worker.');
    this.waits = this.histogram(
      'gearmonkey_job_wait_seconds',
      'From being enqueued or due to being claimed.',
      WAIT_SECONDS,
    );
    this.runs = this.histogram('gearmonkey_job_run_seconds', 'How long handlers ran.', RUN_SECONDS);
    this.turns = new Histogram({
      name: 'gearmonkey_redis_turn_seconds',
      help: 'How long calls to Redis took that settle and claim jobs.',
      labelNames: ['fn'],
      buckets: TURN_SECONDS,
      registers: [registry],
    });
    this.stops = this.subscribe();
  }

  /** Stops counting, and takes the metrics off the registry. */
  close(): void {
    for (const stop of this.stops) stop();
    const all = [this.enqueued, this.finished, this.retries, this.lost, this.waits, this.runs, this.turns];
    for (const metric of all) this.registry.removeSingleMetric((metric as unknown as { name: string }).name);
  }

  private subscribe(): (() => void)[] {
    const turns = new WeakMap<object, number>();
    return [
      subscribeTo(instrumentation.enqueue, {
        asyncEnd: (event) => {
          if (event.ids) this.enqueued.inc(this.labelsOf(event, event.fn), event.count);
        },
      }),
      subscribeTo(instrumentation.claim, {
        asyncEnd: (event) => {
          for (const claim of event.claims ?? []) this.claimed(event, claim);
        },
      }),
      subscribeTo(instrumentation.run, {
        asyncEnd: (event) => {
          const labels = this.labelsOf(event, event.claim.fn);
          this.runs.observe(labels, (event.duration ?? 0) / 1000);
          if (event.end === 'cancelled') this.finished.inc({ ...labels, outcome: 'cancelled' });
        },
      }),
      subscribeTo(instrumentation.settle, { asyncEnd: (event) => this.settled(event) }),
      subscribeTo(instrumentation.lease, {
        start: (event) => {
          if (event.state !== 'cancelled') this.lost.inc(this.labelsOf(event, event.claim.fn));
        },
      }),
      subscribeTo(instrumentation.turn, {
        start: (event) => {
          if (event.system !== 'memory') turns.set(event, performance.now());
        },
        asyncEnd: (event) => {
          const began = turns.get(event);
          // A call behind a blocking one takes as long as that waits.
          if (began === undefined || event.blocked > 0 || event.error !== undefined) return;
          this.turns.observe({ fn: this.labels.of(event.fn) }, (performance.now() - began) / 1000);
        },
      }),
    ];
  }

  private claimed(event: InstrumentedEvent, { fn, waited }: Claim): void {
    if (waited !== undefined) this.waits.observe(this.labelsOf(event, fn), waited / 1000);
  }

  private settled(event: SettleEvent): void {
    const refused = new Set(event.refused);
    for (const { claim, status } of event.refused ? event.outcomes : []) {
      if (refused.has(claim)) continue;
      const labels = this.labelsOf(event, claim.fn);
      const outcome = FINISHED[status];
      if (outcome) this.finished.inc({ ...labels, outcome });
      if (status === 'retry') this.retries.inc(labels);
    }
  }

  private labelsOf({ system }: InstrumentedEvent, fn: string): Record<JobLabel, string> {
    return { system, fn: this.labels.of(fn) };
  }

  private counter(name: string, help: string): Counter<JobLabel> {
    return new Counter({ name, help, labelNames: [...JOB_LABELS], registers: [this.registry] });
  }

  private histogram(name: string, help: string, buckets: number[]): Histogram<JobLabel> {
    return new Histogram({ name, help, labelNames: [...JOB_LABELS], buckets, registers: [this.registry] });
  }
}
