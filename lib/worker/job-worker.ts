import { withDeadline } from '../job/deadline.js';
import { messageOf } from '../job/errors.js';
import { JobCancelledError, JobTimeoutError, LeaseLostError, ShutdownError } from '../job/abort-errors.js';
import type { Claim, JobSource, Outcome } from '../job/job-source.js';
import { Deadlines } from './deadlines.js';
import { JobExecution, type ExecutionLimits } from './job-execution.js';
import type { HandlerBinding } from './job-handler.js';

/** Where a worker says what an operator should know. */
export interface WorkerLog {
  warn(message: string): void;
  error(message: string): void;
}

export interface WorkerOptions extends ExecutionLimits {
  readonly log: WorkerLog;
}

/** How long a failing `claim` is left alone. Sources wait through outages themselves. */
const CLAIM_RETRY_MS = 1000;
/** How much longer a lease is kept than its job may run. */
const TIMEOUT_GRACE_MS = 1000;
/** How long a closing worker waits for its last outcomes to be taken. */
const SETTLE_TIMEOUT_MS = 5000;

/** Runs the handlers of one source: fills free slots with claims, hands outcomes back. */
export class JobWorker {
  private readonly bindings: ReadonlyMap<string, HandlerBinding>;
  private readonly running = new Set<JobExecution>();
  private readonly deadlines = new Deadlines<JobExecution>((execution) => {
    const { claim, timeout = 0 } = execution;
    execution.fail(new JobTimeoutError(claim.fn, claim.id, timeout));
  });
  private readonly settling = new Set<Promise<unknown>>();
  /** Free slots of each function that has any: kept up to date while a claim waits. */
  private readonly slots = new Map<string, number>();
  private claiming: AbortController | undefined;
  private wakeUp: () => void = () => undefined;
  private stopping = false;
  private loop: Promise<void> = Promise.resolve();
  private renewal?: NodeJS.Timeout;

  constructor(
    private readonly source: JobSource,
    bindings: readonly HandlerBinding[],
    private readonly options: WorkerOptions,
  ) {
    this.bindings = new Map(bindings.map((binding) => [binding.definition.name, binding]));
    for (const { definition, limits } of bindings) this.slots.set(definition.name, limits.concurrency);
  }

  /** Announces the functions and starts to claim. */
  async start(): Promise<void> {
    await this.source.open([...this.bindings.keys()], (claim, why) => this.revoke(claim, why));
    const { renewInterval } = this.source;
    if (renewInterval) this.renewal = setInterval(() => void this.renew(), renewInterval).unref();
    this.loop = this.claimUntilStopped();
  }

  /**
   * Stops claiming, lets running jobs finish for `timeout` milliseconds, aborts the rest and gives them
   * back, and closes the source.
   */
  async stop(timeout: number): Promise<void> {
    this.stopping = true;
    this.claiming?.abort();
    this.wakeUp();
    await this.loop;
    await this.drain(timeout);
    // Each goes before the one before it: the oldest is in front again in the end.
    for (const execution of [...this.running].reverse()) execution.release(new ShutdownError());
    this.deadlines.clear();
    await this.settled();
    clearInterval(this.renewal);
    await this.source.close();
  }

  private async claimUntilStopped(): Promise<void> {
    while (!this.stopping) {
      if (this.slots.size === 0) await this.nextWakeUp();
      else for (const claim of await this.claim()) this.begin(claim);
    }
  }

  private async claim(): Promise<readonly Claim[]> {
    this.claiming = new AbortController();
    try {
      return await this.source.claim(this.slots, this.claiming.signal);
    } catch (error) {
      this.options.log.error(`Claiming jobs failed, trying again: ${messageOf(error)}`);
      await this.nextWakeUp(CLAIM_RETRY_MS);
      return [];
    } finally {
      this.claiming = undefined;
    }
  }

  private begin(claim: Claim): void {
    const binding = this.bindings.get(claim.fn);
    if (!binding) return this.settle({ claim, status: 'released' });
    this.slotTaken(claim.fn);
    const execution = new JobExecution(claim, binding, this.options, this.source, this.onEnd);
    this.running.add(execution);
    this.limit(execution);
    execution.start();
  }

  private readonly onEnd = (execution: JobExecution, outcome: Outcome | undefined): void => {
    this.running.delete(execution);
    this.deadlines.delete(execution);
    if (outcome) this.settle(outcome);
    this.slotFreed(execution.claim.fn);
  };

  /** Here the run ends in time; the source's lease ends a little later, in case this process can't keep time. */
  private limit(execution: JobExecution): void {
    const { timeout, claim } = execution;
    if (timeout === undefined) return;
    this.deadlines.set(execution, performance.now() + timeout);
    this.source.limit?.(claim, Date.now() + timeout + TIMEOUT_GRACE_MS);
  }

  private settle(outcome: Outcome): void {
    const settled = this.source.settle([outcome]).then(
      (refused) => {
        for (const { fn, id } of refused)
          this.options.log.warn(`The outcome of ${fn} ${id} was refused: its lease had gone.`);
      },
      (error: unknown) =>
        this.options.log.error(
          `The outcome of ${outcome.claim.fn} ${outcome.claim.id} is lost: ${messageOf(error)}`,
        ),
    );
    this.settling.add(settled);
    void settled.then(() => this.settling.delete(settled));
  }

  private slotTaken(fn: string): void {
    const free = (this.slots.get(fn) ?? 0) - 1;
    if (free > 0) this.slots.set(fn, free);
    else this.slots.delete(fn);
  }

  /** A claim that waits without this function's slots is called again with them. */
  private slotFreed(fn: string): void {
    const free = this.slots.get(fn) ?? 0;
    this.slots.set(fn, free + 1);
    this.wakeUp();
    if (free === 0) this.claiming?.abort();
  }

  private nextWakeUp(timeout?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = timeout === undefined ? undefined : setTimeout(resolve, timeout);
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Outcomes that a server in trouble doesn't take are left to the leases. */
  private async settled(): Promise<void> {
    const late = () => new Error(`${this.settling.size} outcomes were not taken in time`);
    await withDeadline(Promise.all(this.settling), SETTLE_TIMEOUT_MS, late).catch((error: unknown) =>
      this.options.log.error(messageOf(error)),
    );
  }

  private async drain(timeout: number): Promise<void> {
    const deadline = Date.now() + timeout;
    while (this.running.size > 0 && Date.now() < deadline) await this.nextWakeUp(deadline - Date.now());
  }

  /** A job that has ended gave its lease up itself: the keeper may hear of that before this thread does. */
  private revoke(claim: Claim, why: 'lost' | 'cancelled'): void {
    const execution = [...this.running].find((running) => running.claim === claim);
    if (!execution) return;
    const reason = why === 'lost' ? LeaseLostError : JobCancelledError;
    execution.revoke(new reason(claim.fn, claim.id));
    if (why === 'lost')
      this.options.log.warn(`${claim.fn} ${claim.id} went to another worker: its lease had expired here.`);
  }

  private async renew(): Promise<void> {
    const held = new Map([...this.running].map((execution) => [execution.claim, execution]));
    if (held.size === 0) return;
    try {
      for (const claim of await this.source.renew([...held.keys()])) {
        held.get(claim)?.revoke(new LeaseLostError(claim.fn, claim.id));
      }
    } catch (error) {
      this.options.log.warn(`Renewing leases failed: ${messageOf(error)}`);
    }
  }
}
