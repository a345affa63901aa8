import { JobTimeoutError, ShutdownError } from '../job/abort-errors.js';
import { systemClock, type Clock } from '../job/clock.js';
import type { Claim, JobSource } from '../job/job-source.js';
import type { JobExecution } from './job-execution.js';
import { MAX_TIMER_MS } from '../job/duration.js';

/** How long a lease is renewed after the job's timeout. */
const TIMEOUT_GRACE_MS = 1000;

/** The jobs that a worker runs, each until its end or its timeout. */
export class RunningExecutions {
  private readonly executions = new Map<Claim, JobExecution>();
  private readonly deadlines = new Deadlines<JobExecution>(
    (execution) => {
      const { claim, timeout = 0 } = execution;
      execution.fail(new JobTimeoutError(claim.fn, claim.id, timeout));
    },
    () => this.source.clock ?? systemClock,
  );

  constructor(private readonly source: Pick<JobSource, 'leases' | 'clock'>) {}

  get size(): number {
    return this.executions.size;
  }

  get claims(): Claim[] {
    return [...this.executions.keys()];
  }

  /** Those of a function. */
  of(fn: string): Claim[] {
    return this.claims.filter((claim) => claim.fn === fn);
  }

  get(claim: Claim): JobExecution | undefined {
    return this.executions.get(claim);
  }

  /** Sets the job's timeout here, and a slightly later one for its lease in case this process is blocked. */
  start(execution: JobExecution): void {
    const { claim, timeout } = execution;
    this.executions.set(claim, execution);
    if (timeout !== undefined) {
      this.deadlines.set(execution, timeout);
      this.source.leases?.setDeadline?.(claim, timeout + TIMEOUT_GRACE_MS);
    }
    execution.start();
  }

  ended(execution: JobExecution): void {
    this.executions.delete(execution.claim);
    if (execution.timeout === undefined) return;
    this.deadlines.delete(execution);
    // Its outcome may have to wait for a slow line, and its lease must not end meanwhile.
    this.source.leases?.setDeadline?.(execution.claim, Infinity);
  }

  /** Gives back those of a function, or all: in reverse, which leaves the oldest in front. */
  release(fn?: string): void {
    for (const execution of [...this.executions.values()].reverse())
      if (fn === undefined || execution.claim.fn === fn) execution.release(new ShutdownError());
  }

  /** Those of a function, or all, go back before their next step. */
  endAtSteps(fn?: string): void {
    for (const execution of this.executions.values())
      if (fn === undefined || execution.claim.fn === fn) execution.endAtStep();
  }

  clearDeadlines(): void {
    this.deadlines.clear();
  }
}

/** Calls back for each entry when its deadline passes, with one timer for all entries. */
export class Deadlines<T> {
  private readonly entries = new Map<T, number>();
  private disarm: () => void = () => undefined;
  private armedFor = Infinity;

  constructor(
    private readonly onDue: (entry: T) => void,
    /** Called when the time is needed. */
    private readonly clock: () => Clock = () => systemClock,
  ) {}

  /** Sets the deadline of an entry to `ms` milliseconds from now. */
  set(entry: T, ms: number): void {
    const at = this.clock().elapsed() + ms;
    this.entries.set(entry, at);
    if (at < this.armedFor) this.arm(at);
  }

  /** The timer is not cleared: when it fires, it finds the entries that are due then. */
  delete(entry: T): void {
    this.entries.delete(entry);
  }

  clear(): void {
    this.entries.clear();
    this.disarm();
    this.armedFor = Infinity;
  }

  private arm(at: number): void {
    this.disarm();
    this.armedFor = at;
    const clock = this.clock();
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, Math.ceil(at - clock.elapsed())));
    this.disarm = clock.after(wait, () => this.fire(), true);
  }

  private fire(): void {
    this.armedFor = Infinity;
    const now = this.clock().elapsed();
    const due = [...this.entries].filter(([, at]) => at <= now);
    for (const [entry] of due) {
      this.entries.delete(entry);
      this.onDue(entry);
    }
    const next = Math.min(...this.entries.values());
    if (next < this.armedFor) this.arm(next);
  }
}
