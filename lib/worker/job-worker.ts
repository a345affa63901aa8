// Of the module, not the globals: a test's fake timers must not keep an app from closing.
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';
import { messageOf, ConfigurationError } from '../job/errors.js';
import { JobCancelledError, LeaseLostError, ShutdownError } from '../job/abort-errors.js';
import { instrumentation } from '../job/instrumentation.js';
import type { Claim, JobSource, Outcome, OnRevoked } from '../job/job-source.js';
import {
  WAIT_LIMIT_MS,
  WAIT_MS,
  type FunctionSlots,
  FunctionTable,
  type RunningFunction,
} from './function-slots.js';
import { JobExecution, type ExecutionLimits } from './job-execution.js';
import type { HandlerBinding } from './job-handler.js';
import { JobLog } from './job-log.js';
import { Isolation } from './isolation.js';
import { RunningExecutions } from './running-executions.js';
import { Settler } from './settler.js';
import { Suspects } from './suspects.js';
import { leaseEnded, tracedClaim } from './traced-source.js';
import { inLines, type WorkerLog } from './worker-log.js';
import { showAs } from '../job/show-as.js';
import { withDeadline } from '../job/clock.js';
import { realNow } from '../job/real-time.js';
import { type Codec, read } from '../job/codec.js';

export type { WorkerLog };

export interface WorkerOptions extends ExecutionLimits {
  readonly log: WorkerLog;
  /** Whether the line of a failed attempt has the stack of its error. @default false: it goes to the log's `debug` */
  readonly logStacks?: boolean;
  /** What all workers of a process share. */
  readonly isolation?: Isolation;
}

/** The pause after a `claim` that failed. During an outage sources wait and do not fail. */
const CLAIM_RETRY_MS = 1000;
/** How long a closing worker waits until its last outcomes are settled. */
const SETTLE_TIMEOUT_MS = 5000;

/** Runs the handlers of one source: fills free slots with claims and settles their outcomes. */
export class JobWorker {
  static {
    showAs(JobWorker, ({ functions, running }) => ({ functions: functions.names, running: running.size }));
  }

  private readonly functions: FunctionTable;
  private readonly running: RunningExecutions;
  private readonly settler: Settler;
  private readonly announcer: Announcer;
  private readonly log: Required<WorkerLog>;
  private readonly jobLog: JobLog;
  private readonly limits: ExecutionLimits;
  private readonly claiming = new AbortController();
  private readonly wakeUp = new WakeUp();
  private readonly suspects: Suspects;
  private stopping = false;
  private loop: Promise<void> = Promise.resolve();
  private renewal?: NodeJS.Timeout;
  private waiting?: NodeJS.Timeout;

  constructor(
    private readonly source: JobSource,
    bindings: readonly HandlerBinding[],
    options: WorkerOptions,
  ) {
    this.functions = new FunctionTable(bindings, source.claimsAhead ?? false, () => this.wakeUp.call());
    this.running = new RunningExecutions(source);
    this.log = inLines(options.log);
    this.jobLog = new JobLog(this.log, options.logStacks);
    this.limits = {
      ...options,
      onLost: (claim) => this.revoke(claim, 'lost'),
      onLargeParents: this.jobLog.largeParents,
      onHookError: (message) => this.log.error(message),
    };
    this.settler = new Settler(source, this.log, this.jobLog);
    const { functions, running, jobLog, settler, begin, giveBack } = this;
    const parts = { source, functions, running, jobLog, settler, begin, giveBack };
    this.suspects = new Suspects(options.isolation ?? new Isolation(), parts);
    this.announcer = new Announcer(source, this.log, options.codec, (claim, why) => this.revoke(claim, why));
  }

  /** Registers the functions and starts to claim. @throws ConfigurationError for a limit that the source doesn't apply */
  async start(): Promise<void> {
    await this.announcer.open([...this.functions.all()].map(({ binding }) => binding));
    const { renewInterval } = this.source;
    if (renewInterval) this.renewal = setInterval(() => void this.renew(), renewInterval).unref();
    this.loop = this.claimUntilStopped();
  }

  list(): RunningFunction[] {
    return this.functions.list();
  }

  /** Runs the jobs of one more function. @throws what the source says of a server that doesn't take it */
  async add(binding: HandlerBinding): Promise<void> {
    await this.announcer.open([binding]);
    if (this.stopping) return;
    this.functions.add(binding);
    this.wakeUp.call();
  }

  /** Sets how many jobs of a function may run at a time; running jobs continue. False for one that doesn't run or is stopping. */
  setConcurrency(fn: string, concurrency: number): boolean {
    const slots = this.functions.get(fn);
    if (!slots || slots.isLeaving || this.stopping) return false;
    slots.concurrency = concurrency;
    while (this.beginNext(slots, realNow()));
    this.functions.update(fn);
    this.wakeUp.call();
    return true;
  }

  /** Claims no more jobs of a function, waits up to `timeout` milliseconds for running ones, and releases the rest. */
  async remove(fn: string, timeout: number): Promise<void> {
    const slots = this.functions.get(fn);
    if (!slots || !this.setConcurrency(fn, 0)) return;
    slots.isLeaving = true;
    this.giveBack(slots);
    this.giveBackCollected(slots);
    this.suspects.withdraw(fn);
    this.running.endAtSteps(fn);
    this.jobLog.draining(this.running.of(fn), timeout);
    await slots.idle(timeout);
    this.jobLog.givenBack(this.running.of(fn));
    this.running.release(fn);
    await this.settler.answered(SETTLE_TIMEOUT_MS);
    if (this.stopping) return;
    this.functions.delete(fn);
    await this.announcer.withdraw(fn);
  }

  /**
   * Stops claiming and waits up to `timeout` milliseconds for running jobs. Then it aborts and releases the rest, and
   * closes the source.
   */
  async stop(timeout: number): Promise<void> {
    this.stopping = true;
    this.source.takeNoMore?.();
    this.claiming.abort();
    this.wakeUp.call();
    await this.loop;
    for (const slots of this.functions.all()) {
      this.giveBack(slots);
      this.giveBackCollected(slots);
    }
    this.suspects.close();
    this.running.endAtSteps();
    this.jobLog.draining(this.running.claims, timeout);
    await this.drain(timeout);
    this.jobLog.givenBack(this.running.claims);
    this.running.release();
    this.running.clearDeadlines();
    await this.settler.settled(SETTLE_TIMEOUT_MS);
    clearInterval(this.renewal);
    clearTimeout(this.waiting);
    await this.source.close();
  }

  private async claimUntilStopped(): Promise<void> {
    while (!this.stopping) {
      if (this.functions.free.isEmpty) await this.wakeUp.wait();
      else this.take(await this.claim());
    }
  }

  private async claim(): Promise<readonly Claim[]> {
    try {
      const call: Parameters<JobSource['claim']> = [this.functions.free, this.claiming.signal];
      const isTraced = instrumentation.claim.hasSubscribers;
      return await (isTraced ? tracedClaim(this.source, ...call) : this.source.claim(...call));
    } catch (error) {
      this.log.error(`Claiming jobs failed, trying again: ${messageOf(error)}`);
      await this.wakeUp.wait(CLAIM_RETRY_MS);
      return [];
    }
  }

  /** Begins claims that have a slot. The others were claimed ahead and wait for one. */
  private take(claims: readonly Claim[]): void {
    if (!this.functions.isOpen || hasSuspect(claims)) return this.suspects.take(claims);
    const now = realNow();
    const beginning: Claim[] = [];
    let leaving: Claim[] | undefined;
    for (const claim of claims) {
      const slots = this.functions.get(claim.fn);
      if (!slots || slots.isLeaving) (leaving ??= []).push(claim);
      else if (slots.take(claim, now)) beginning.push(claim);
      else this.hold(claim);
    }
    // Newest first, so that the oldest ends up in front.
    for (const claim of leaving?.toReversed() ?? []) this.settler.settle({ claim, status: 'released' });
    // Behind these, since a handler may block.
    for (const claim of beginning) this.begin(claim, this.functions.get(claim.fn) as FunctionSlots);
    for (const fn of new Set(claims.map((claim) => claim.fn))) this.functions.update(fn);
  }

  private hold(claim: Claim): void {
    this.source.leases?.giveBackAfter?.(claim, WAIT_LIMIT_MS);
    this.waiting ??= setTimeout(() => this.giveBackStuck(), WAIT_MS).unref();
  }

  private readonly begin = (claim: Claim, { binding }: FunctionSlots): void => {
    this.running.start(new JobExecution(claim, binding, this.limits, this.source, this.onEnd));
  };

  private readonly onEnd = (execution: JobExecution, outcome: Outcome | undefined): void => {
    const { claim, began } = execution;
    const now = realNow();
    this.running.ended(execution);
    if (outcome) {
      this.settler.settle(outcome.took === undefined ? { ...outcome, took: now - began } : outcome);
      if (outcome.status !== 'success')
        this.jobLog.ended(outcome, execution.attempt, execution.retry?.attempts ?? 1);
    }
    const slots = this.functions.get(claim.fn) as FunctionSlots;
    slots.ended(claim, now - began);
    if (!this.stopping && slots.isWaiting) this.beginNext(slots, now);
    this.functions.update(claim.fn);
    if (!this.functions.isOpen) this.suspects.ended(claim);
    this.wakeUp.call();
  };

  private beginNext(slots: FunctionSlots, now: number): boolean {
    if (slots.isOverdue(now)) this.giveBack(slots);
    const claim = slots.next(now);
    if (!claim) return false;
    this.source.leases?.setDeadline?.(claim, Infinity);
    this.begin(claim, slots);
    return true;
  }

  /** Releases claims that have waited too long; repeats while any claim waits. */
  private giveBackStuck(): void {
    const now = realNow();
    for (const slots of this.functions.all()) if (slots.isStuck(now)) this.giveBack(slots);
    const wait = [...this.functions.all()].some(({ isWaiting }) => isWaiting);
    this.waiting = wait ? setTimeout(() => this.giveBackStuck(), WAIT_MS).unref() : undefined;
  }

  private readonly giveBack = (slots: FunctionSlots): void => {
    for (const claim of slots.giveUp()) {
      // Its lease must not end before that is written.
      this.source.leases?.setDeadline?.(claim, Infinity);
      this.settler.settle({ claim, status: 'released' });
    }
    this.functions.update(slots.binding.definition.name);
  };

  /** Jobs that wait for a batch of theirs have not begun. Newest first, so that the oldest ends up in front. */
  private giveBackCollected({ binding }: FunctionSlots): void {
    for (const claim of binding.batch?.waiting.toReversed() ?? [])
      this.running.get(claim)?.release(new ShutdownError());
  }

  private async drain(timeout: number): Promise<void> {
    const deadline = realNow() + timeout;
    for (let left = timeout; this.running.size > 0 && left > 0; left = deadline - realNow())
      await this.wakeUp.wait(left);
  }

  /** Ignores settled jobs: settling ends a lease, and the keeper thread may report that as a loss. */
  private revoke(claim: Claim, why: Parameters<OnRevoked>[1]): void {
    const reason = why === 'cancelled' ? JobCancelledError : LeaseLostError;
    const execution = this.running.get(claim);
    if (execution) execution.revoke(new reason(claim.fn, claim.id));
    else if (!this.functions.drop(claim) && !this.suspects.ended(claim)) return;
    if (why === 'returned') return;
    leaseEnded(this.source, claim, why);
    this.jobLog[why](claim);
  }

  private async renew(): Promise<void> {
    const claims = [...this.running.claims, ...this.suspects.waiting];
    if (claims.length === 0) return;
    try {
      for (const claim of await this.source.renew(claims)) this.revoke(claim, 'lost');
    } catch (error) {
      this.log.warn(`Renewing leases failed: ${messageOf(error)}`);
    }
  }
}

/** Not `some`: most claims have none, and this makes no closure. */
function hasSuspect(claims: readonly Claim[]): boolean {
  for (const { suspect } of claims) if (suspect) return true;
  return false;
}

/** During an outage, a function that is being announced waits for the server, and what comes after it too. */
const SIGN_OFF_MS = 3000;

/** Announces a worker's functions to its source, one call after the other: a source that closes waits for the last. */
class Announcer {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly source: Pick<
      JobSource,
      'open' | 'withdraw' | 'limits' | 'keep' | 'capabilities' | 'address'
    >,
    private readonly log: WorkerLog,
    /** The codec of functions whose definition names none. */
    private readonly codec: Codec,
    private readonly onRevoked: OnRevoked,
  ) {}

  /**
   * If it fails, what was done of it is undone before the next call.
   *
   * @throws ConfigurationError for a limit without a source that applies it · what the source says of a server that doesn't take them
   */
  open(bindings: readonly HandlerBinding[]): Promise<void> {
    const functions = bindings.map(({ definition }) => definition.name);
    const opening = this.last.then(() => {
      giveLimits(this.source, bindings, this.codec);
      giveKeep(this.source, bindings);
      return this.source.open(functions, this.onRevoked);
    });
    this.last = opening.catch(() => this.source.withdraw?.(functions)).catch(() => undefined);
    return opening;
  }

  /** If it fails, the function only stays announced until the worker's end: its handler has stopped anyway. */
  async withdraw(fn: string): Promise<void> {
    const withdrawn = this.last.then(() => this.source.withdraw?.([fn]));
    this.last = withdrawn.catch(() => undefined);
    try {
      await withDeadline(withdrawn, SIGN_OFF_MS, () => new Error(`not within ${SIGN_OFF_MS} ms`));
    } catch (error) {
      this.log.warn(`Signing off from ${fn} failed: ${messageOf(error)}`);
    }
  }
}

/**
 * Gives a source the limits of functions, before it is opened for them. Keys are made from inputs as they were sent: schemas
 * are not applied.
 *
 * @throws ConfigurationError if the jobs' system has no limits
 */
function giveLimits(
  source: Pick<JobSource, 'address' | 'capabilities' | 'limits'>,
  bindings: readonly HandlerBinding[],
  moduleCodec: Codec,
): void {
  for (const { definition, limits } of bindings) {
    const { limit } = limits;
    if (!limit) continue;
    const { name, codec = moduleCodec } = definition;
    if (!source.capabilities.limits || !source.limits) throw withoutLimits(name, source.address);
    const keyOf = (input: Uint8Array) => limit.keyOf(read(codec, name, 'input', input));
    source.limits.set(name, { rules: limit.rules, keyOf });
  }
}

/**
 * Tells a source how long ended jobs can be read, before it is opened for their functions.
 *
 * @throws ConfigurationError if the jobs' system decides that itself
 */
export function giveKeep(
  source: Pick<JobSource, 'address' | 'keep'>,
  bindings: readonly HandlerBinding[],
): void {
  for (const { definition } of bindings) {
    const { name, keep } = definition;
    if (keep && !source.keep) throw withoutKeep(name, source.address);
    source.keep?.set(name, keep ?? {});
  }
}

function withoutKeep(fn: string, address = 'this source'): ConfigurationError {
  return new ConfigurationError(
    `"${fn}" has \`keep\`, which is for jobs of GearMonkey and memory, not of ${address}. Remove it: that system has a setting of its own.`,
  );
}

function withoutLimits(fn: string, address = 'this source'): ConfigurationError {
  return new ConfigurationError(
    `"${fn}" has a \`limit\`, which is for jobs of GearMonkey and memory, not of ${address}. Remove it, and use the handler's \`concurrency\`.`,
  );
}

/** Lets one loop wait until there may be something to do. */
class WakeUp {
  /** Ends the wait, if there is one. */
  call: () => void = () => undefined;

  /** @param timeout in ms */
  wait(timeout?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = timeout === undefined ? undefined : setTimeout(resolve, timeout);
      this.call = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
