import { systemClock } from '../job/clock.js';
import { messageOf } from '../job/errors.js';
import { JobCancelledError, JobTimeoutError, LeaseLostError, ShutdownError } from '../job/abort-errors.js';
import type { Claim, JobSource, Outcome } from '../job/job-source.js';
import { Deadlines } from './deadlines.js';
import { FunctionSlots } from './function-slots.js';
import { JobExecution, type ExecutionLimits } from './job-execution.js';
import type { HandlerBinding } from './job-handler.js';
import { JobLog } from './job-log.js';
import { Settler } from './settler.js';
import { SlotTable } from './slot-table.js';
import { inLines, type WorkerLog } from './worker-log.js';
import { showAs } from '../job/show-as.js';

export type { WorkerLog };

export interface WorkerOptions extends ExecutionLimits {
  readonly log: WorkerLog;
  /** Whether the line of a failed attempt has the stack of its error. @default false: it goes to the log's `debug` */
  readonly logStacks?: boolean;
}

/** The pause after a `claim` that failed. During an outage sources wait and do not fail. */
const CLAIM_RETRY_MS = 1000;
/** How long a lease is renewed after the job's timeout. */
const TIMEOUT_GRACE_MS = 1000;
/** A claim that gets no slot in this time is released: the function's runs are no longer short. */
const WAIT_MS = 20;
/** Renewal of a waiting claim ends after this time, so a busy or stopped process loses it to another worker. */
const WAIT_LIMIT_MS = 1000;
/** How long a closing worker waits until its last outcomes are settled. */
const SETTLE_TIMEOUT_MS = 5000;

/** Runs the handlers of one source: fills free slots with claims and settles their outcomes. */
export class JobWorker {
  static {
    showAs(JobWorker, ({ functions, running }) => ({
      functions: [...functions.keys()],
      running: running.size,
    }));
  }

  private readonly functions: ReadonlyMap<string, FunctionSlots>;
  private readonly running = new Map<Claim, JobExecution>();
  private readonly deadlines = new Deadlines<JobExecution>(
    (execution) => {
      const { claim, timeout = 0 } = execution;
      execution.fail(new JobTimeoutError(claim.fn, claim.id, timeout));
    },
    () => this.source.clock ?? systemClock,
  );
  private readonly settler: Settler;
  private readonly log: WorkerLog;
  private readonly jobLog: JobLog;
  private readonly slots: SlotTable;
  private readonly claiming = new AbortController();
  private wakeUp: () => void = () => undefined;
  private stopping = false;
  private loop: Promise<void> = Promise.resolve();
  private renewal?: NodeJS.Timeout;
  private waiting?: NodeJS.Timeout;

  constructor(
    private readonly source: JobSource,
    bindings: readonly HandlerBinding[],
    private readonly options: WorkerOptions,
  ) {
    const { claimsAhead = false } = source;
    this.functions = new Map(
      bindings.map((binding) => [binding.definition.name, new FunctionSlots(binding, claimsAhead)]),
    );
    this.slots = new SlotTable([...this.functions].map(([fn, { free }]) => [fn, free]));
    this.log = inLines(options.log);
    this.jobLog = new JobLog(this.log, options.logStacks);
    this.settler = new Settler(source, this.log, this.jobLog);
  }

  /** Registers the functions and starts to claim. */
  async start(): Promise<void> {
    await this.source.open([...this.functions.keys()], (claim, why) => this.revoke(claim, why));
    const { renewInterval } = this.source;
    if (renewInterval) this.renewal = setInterval(() => void this.renew(), renewInterval).unref();
    this.loop = this.claimUntilStopped();
  }

  /**
   * Stops claiming and waits up to `timeout` milliseconds for running jobs. Then it aborts and releases the rest, and
   * closes the source.
   */
  async stop(timeout: number): Promise<void> {
    this.stopping = true;
    this.source.takeNoMore?.();
    this.claiming.abort();
    this.wakeUp();
    await this.loop;
    for (const slots of this.functions.values()) this.giveBack(slots);
    this.jobLog.draining([...this.running.keys()], timeout);
    await this.drain(timeout);
    this.jobLog.givenBack([...this.running.keys()]);
    // Released in reverse, which leaves the oldest in front.
    for (const execution of [...this.running.values()].reverse()) execution.release(new ShutdownError());
    this.deadlines.clear();
    await this.settler.settled(SETTLE_TIMEOUT_MS);
    clearInterval(this.renewal);
    clearTimeout(this.waiting);
    await this.source.close();
  }

  private async claimUntilStopped(): Promise<void> {
    while (!this.stopping) {
      if (this.slots.isEmpty) await this.nextWakeUp();
      else this.take(await this.claim());
    }
  }

  private async claim(): Promise<readonly Claim[]> {
    try {
      return await this.source.claim(this.slots, this.claiming.signal);
    } catch (error) {
      this.log.error(`Claiming jobs failed, trying again: ${messageOf(error)}`);
      await this.nextWakeUp(CLAIM_RETRY_MS);
      return [];
    }
  }

  /** Begins claims that have a slot. The others were claimed ahead and wait for one. */
  private take(claims: readonly Claim[]): void {
    const now = performance.now();
    for (const claim of claims) {
      const slots = this.functions.get(claim.fn);
      if (!slots) this.settler.settle({ claim, status: 'released' });
      else if (slots.take(claim, now)) this.begin(claim, slots);
      else this.hold(claim);
    }
    for (const fn of new Set(claims.map((claim) => claim.fn))) this.updateFreeSlots(fn);
  }

  private hold(claim: Claim): void {
    this.source.setDeadline?.(claim, WAIT_LIMIT_MS);
    this.waiting ??= setTimeout(() => this.giveBackStuck(), WAIT_MS).unref();
  }

  private begin(claim: Claim, { binding }: FunctionSlots): void {
    const execution = new JobExecution(claim, binding, this.options, this.source, this.onEnd);
    this.running.set(claim, execution);
    this.limit(execution);
    execution.start();
  }

  private readonly onEnd = (execution: JobExecution, outcome: Outcome | undefined): void => {
    const { claim, began } = execution;
    this.running.delete(claim);
    this.deadlines.delete(execution);
    if (outcome) {
      this.settler.settle(outcome);
      this.jobLog.ended(outcome, execution.attempt, execution.retry?.attempts ?? 1);
    }
    const slots = this.functions.get(claim.fn) as FunctionSlots;
    const now = performance.now();
    slots.ended(now - began);
    this.beginNext(slots, now);
    this.updateFreeSlots(claim.fn);
    this.wakeUp();
  };

  private beginNext(slots: FunctionSlots, now: number): void {
    if (slots.isStuck(now, WAIT_LIMIT_MS)) return this.giveBack(slots);
    const claim = slots.next(now);
    if (!claim) return;
    this.source.setDeadline?.(claim, Infinity);
    this.begin(claim, slots);
  }

  /** Releases claims that have waited too long; repeats while any claim waits. */
  private giveBackStuck(): void {
    const now = performance.now();
    for (const slots of this.functions.values()) if (slots.isStuck(now, WAIT_MS)) this.giveBack(slots);
    const wait = [...this.functions.values()].some(({ isWaiting }) => isWaiting);
    this.waiting = wait ? setTimeout(() => this.giveBackStuck(), WAIT_MS).unref() : undefined;
  }

  private giveBack(slots: FunctionSlots): void {
    for (const claim of slots.giveUp()) this.settler.settle({ claim, status: 'released' });
    this.updateFreeSlots(slots.binding.definition.name);
  }

  /** Sets the job's timeout here, and a slightly later one for its lease in case this process is blocked. */
  private limit(execution: JobExecution): void {
    const { timeout, claim } = execution;
    if (timeout === undefined) return;
    this.deadlines.set(execution, timeout);
    this.source.setDeadline?.(claim, timeout + TIMEOUT_GRACE_MS);
  }

  private updateFreeSlots(fn: string): void {
    this.slots.set(fn, this.functions.get(fn)?.free ?? 0);
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

  private async drain(timeout: number): Promise<void> {
    const deadline = performance.now() + timeout;
    for (let left = timeout; this.running.size > 0 && left > 0; left = deadline - performance.now())
      await this.nextWakeUp(left);
  }

  /** Ignores settled jobs: settling ends a lease, and the keeper thread may report that as a loss. */
  private revoke(claim: Claim, why: 'lost' | 'cancelled'): void {
    const reason = why === 'lost' ? LeaseLostError : JobCancelledError;
    const execution = this.running.get(claim);
    if (execution) execution.revoke(new reason(claim.fn, claim.id));
    else if (this.functions.get(claim.fn)?.drop(claim)) this.updateFreeSlots(claim.fn);
    else return;
    if (why === 'lost') this.jobLog.lost(claim);
    else this.jobLog.cancelled(claim);
  }

  private async renew(): Promise<void> {
    if (this.running.size === 0) return;
    try {
      for (const claim of await this.source.renew([...this.running.keys()])) this.revoke(claim, 'lost');
    } catch (error) {
      this.log.warn(`Renewing leases failed: ${messageOf(error)}`);
    }
  }
}
