import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../../job/defined.js';
import { messageOf, reasonOf } from '../../job/error-info.js';
import { retryDelay } from '../../job/retry.js';
import type { JobResult } from '../vocabulary/job-result.js';
import { neverStarted, type LaunchedJob, type Launcher } from '../launcher/launcher.js';
import type { JobdLog } from '../vocabulary/log.js';
import { mayRetry, type AcceptedJob } from '../storage/accepted-job.js';
import type { OrphanPolicy } from '../storage/daemon-registry.js';
import { isRefusedRow } from '../storage/errors.js';
import type { JobTable } from '../storage/job-table.js';
import { nowInSeconds, type RowWriter } from '../storage/row-writer.js';
import { GONE } from '../rows/rows-in-hand.js';
import type { CheckedTarget } from '../rows/targets.js';
import type { JobRun } from '../vocabulary/operations.js';

/** How a job ended in this daemon. */
export type RunEnd =
  | { readonly kind: 'done'; readonly result: JobResult; readonly isLost?: boolean }
  /** It failed and may be tried again at `due`, in seconds since 1970. */
  | { readonly kind: 'retry'; readonly due: number }
  /** It did not run, or was ended early: the row is released. */
  | { readonly kind: 'returned'; readonly isRefused?: boolean }
  /** Another daemon has taken the row, or it was changed or deleted. */
  | { readonly kind: 'lost' }
  /** It ran, but its end could not be written. This daemon keeps the row, so that it doesn't run again. */
  | { readonly kind: 'unwritten'; readonly result: JobResult };

/** The parts that a runner uses. */
export interface RunnerParts {
  readonly writer: RowWriter;
  readonly launcher: Launcher;
}

export interface RunnerOptions {
  readonly orphans: OrphanPolicy;
  readonly log: JobdLog;
  /** Called when the process has ended, and its slot is free. */
  readonly onFree: (job: AcceptedJob) => void;
  /** Whether the row is still this job's. */
  readonly holds: (job: AcceptedJob) => boolean;
  /** Called when a run has ended and its row is written. */
  readonly onRun: (run: JobRun) => void;
}

/** The result of a process. */
interface Stay {
  readonly result: JobResult;
  /** Milliseconds. */
  readonly duration: number;
}

/** The pause before a process is started again after a shortage of resources. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1000;
const SHUTDOWN = 'the daemon shut down';

/** Runs a job: marks it as running, runs its process, writes its result. */
export class JobRunner {
  private readonly launched = new Map<number, LaunchedJob>();
  private readonly occupied = new Map<number, Promise<unknown>>();
  /** Ended because the daemon shuts down. */
  private readonly cutShort = new Set<number>();
  private isStopping = false;

  constructor(
    private readonly table: JobTable,
    private readonly parts: RunnerParts,
    private readonly options: RunnerOptions,
  ) {}

  /** Never rejects. */
  async run(job: AcceptedJob, target: CheckedTarget): Promise<RunEnd> {
    const occupying = this.occupy(job, target);
    this.occupied.set(job.id, occupying);
    const stay = await occupying;
    if ('kind' in stay) return stay;
    const { result, duration } = stay;
    if (result.isShort) return { kind: 'returned' };
    if (this.cutShort.delete(job.id) && this.options.orphans === 'requeue') return { kind: 'returned' };
    const end = await this.write(job, target, result).catch((error: unknown) =>
      this.failed(job, error, result),
    );
    this.options.onRun({ target: job.target, outcome: outcomeOf(end), duration });
    return end;
  }

  signal(id: number, signal: string | number): boolean {
    return this.launched.get(id)?.signal(signal) ?? false;
  }

  /** Resolves when the run of this id has ended and its slot is free; undefined if there is none. */
  ending(id: number): Promise<unknown> | undefined {
    return this.occupied.get(id);
  }

  /** Begins no more jobs. */
  stop(): void {
    this.isStopping = true;
  }

  /** Ends all processes. */
  terminate(): void {
    for (const [id, job] of this.launched) if (job.terminate(SHUTDOWN)) this.cutShort.add(id);
  }

  /** Resolves when all processes have ended. */
  async allExited(): Promise<void> {
    await Promise.all([...this.launched.values()].map(({ result }) => result));
  }

  /** Ends the process of a job that another daemon has taken over. */
  abandon(id: number): void {
    this.launched.get(id)?.terminate(GONE);
  }

  /** The time in which a job holds its slot: its beginning and its process. */
  private async occupy(job: AcceptedJob, target: CheckedTarget): Promise<Stay | RunEnd> {
    const notBegun = await this.begin(job).catch((error: unknown) => this.failed(job, error));
    const started = performance.now();
    const stay = notBegun ?? { result: await this.launch(job, target) };
    // In this order: the slot is free when a wait for the end resolves.
    this.occupied.delete(job.id);
    this.options.onFree(job);
    return 'kind' in stay ? stay : { ...stay, duration: performance.now() - started };
  }

  private async begin(job: AcceptedJob): Promise<RunEnd | undefined> {
    if (this.isStopping) return { kind: 'returned' };
    const isOurs = this.options.holds(job) && (job.hasBegun || (await this.parts.writer.begin(job)));
    if (!isOurs) {
      this.options.log.warn(`Job ${job.id} is not run: ${GONE}.`);
      return { kind: 'lost' };
    }
    return this.isStopping ? { kind: 'returned' } : undefined;
  }

  private async launch(job: AcceptedJob, target: CheckedTarget): Promise<JobResult> {
    const timeout = job.timeout === undefined ? target.timeout : job.timeout * 1000;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      const launched = this.start(job, timeout);
      this.launched.set(job.id, launched);
      this.options.log.debug(`Job ${job.id} of target '${job.target}' runs.`);
      const result = await launched.result;
      this.launched.delete(job.id);
      const { code, signal } = result;
      this.options.log.debug(`Job ${job.id}: ${result.result}, code ${code}, signal ${signal}.`);
      if (!result.isShort || this.isStopping || !this.options.holds(job)) return result;
      this.options.log.warn(`Job ${job.id} waits: ${result.stderr}`);
      await delay(pause);
      // Another daemon may have taken it meanwhile.
      if (this.isStopping || !this.options.holds(job)) return result;
    }
  }

  private start({ id }: AcceptedJob, timeout: number | undefined): LaunchedJob {
    try {
      return this.parts.launcher.launch(id, timeout);
    } catch (error) {
      return neverStarted(`The job can't be started: ${reasonOf(error)}.`);
    }
  }

  private async write(job: AcceptedJob, target: CheckedTarget, result: JobResult): Promise<RunEnd> {
    const { code: return_code, signal: sig, stdout, stderr } = result;
    const output = { return_code, sig, stdout, stderr };
    const delay = this.delayOf(job, target, result);
    const now = nowInSeconds();
    const due = delay === undefined ? undefined : Math.ceil((Date.now() + delay) / 1000);
    const columns =
      due === undefined
        ? ({ status: 'done', result: result.result, time_finished: now, ...output } as const)
        : ({ status: 'waiting', time_scheduled: due, ...output } as const);
    const { id, owner } = job;
    const isOurs = this.options.holds(job) && (await this.parts.writer.end({ id, owner, columns }));
    if (!isOurs) this.options.log.warn(`The end of job ${job.id} is not written: ${GONE}.`);
    if (!isOurs) return { kind: 'done', result, isLost: true };
    return due === undefined ? { kind: 'done', result } : { kind: 'retry', due };
  }

  private failed({ id }: AcceptedJob, error: unknown, result?: JobResult): RunEnd {
    this.options.log.error(`The row of job ${id} could not be written: ${messageOf(error)}`);
    return result ? { kind: 'unwritten', result } : { kind: 'returned', isRefused: isRefusedRow(error) };
  }

  /** Milliseconds to the next attempt; undefined if there is none. */
  private delayOf(job: AcceptedJob, target: CheckedTarget, result: JobResult): number | undefined {
    if (result.result === 'ok' || !mayRetry(job, this.table.columns)) return undefined;
    const retry = { ...target.retry, ...defined({ attempts: job.maxAttempts || undefined }) };
    return retryDelay(retry, job.attempts + 1, result);
  }
}

function outcomeOf(end: RunEnd): JobRun['outcome'] {
  if (end.kind === 'retry') return 'retry';
  return 'result' in end && !('isLost' in end) ? end.result.result : 'lost';
}
