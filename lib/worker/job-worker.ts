import { withDeadline } from '../job/deadline.js';
import { LeaseLostError, ShutdownError, messageOf } from '../job/errors.js';
import type { Claim, JobSource, Outcome } from '../job/job-source.js';
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

/** A function's handler and the jobs it runs now. */
interface Lane {
  readonly binding: HandlerBinding;
  readonly concurrency: number;
  active: number;
}

/** How long a failing `claim` is left alone. Sources wait through outages themselves. */
const CLAIM_RETRY_MS = 1000;
/** How long a closing worker waits for its last outcomes to be taken. */
const SETTLE_TIMEOUT_MS = 5000;

/** Runs the handlers of one source: fills free slots with claims, hands outcomes back. */
export class JobWorker {
  private readonly lanes: ReadonlyMap<string, Lane>;
  private readonly running = new Set<JobExecution>();
  private readonly settling = new Set<Promise<unknown>>();
  private claiming:
    { readonly slots: ReadonlyMap<string, number>; readonly abort: AbortController } | undefined;
  private wakeUp: () => void = () => undefined;
  private stopping = false;
  private loop: Promise<void> = Promise.resolve();
  private renewal?: NodeJS.Timeout;

  constructor(
    private readonly source: JobSource,
    bindings: readonly HandlerBinding[],
    private readonly options: WorkerOptions,
  ) {
    this.lanes = new Map(
      bindings.map((binding) => [
        binding.definition.name,
        { binding, concurrency: binding.options.concurrency ?? 1, active: 0 },
      ]),
    );
  }

  /** Announces the functions and starts to claim. */
  async start(): Promise<void> {
    await this.source.open([...this.lanes.keys()]);
    this.renewal = setInterval(() => void this.renew(), this.source.renewInterval);
    this.renewal.unref();
    this.loop = this.claimUntilStopped();
  }

  /**
   * Stops claiming, lets running jobs finish for `timeout` milliseconds, aborts the rest and gives them
   * back, and closes the source.
   */
  async stop(timeout: number): Promise<void> {
    this.stopping = true;
    this.claiming?.abort.abort();
    this.wakeUp();
    await this.loop;
    await this.drain(timeout);
    for (const execution of this.running) {
      execution.abort(new ShutdownError(), { claim: execution.claim, status: 'released' });
    }
    await this.settled();
    clearInterval(this.renewal);
    await this.source.close();
  }

  private async claimUntilStopped(): Promise<void> {
    while (!this.stopping) {
      const slots = this.freeSlots();
      if (slots.size === 0) await this.nextWakeUp();
      else for (const claim of await this.claim(slots)) this.begin(claim);
    }
  }

  private async claim(slots: ReadonlyMap<string, number>): Promise<readonly Claim[]> {
    this.claiming = { slots, abort: new AbortController() };
    try {
      return await this.source.claim(slots, this.claiming.abort.signal);
    } catch (error) {
      this.options.log.error(`Claiming jobs failed, trying again: ${messageOf(error)}`);
      await this.nextWakeUp(CLAIM_RETRY_MS);
      return [];
    } finally {
      this.claiming = undefined;
    }
  }

  private freeSlots(): Map<string, number> {
    const slots = new Map<string, number>();
    for (const [fn, { concurrency, active }] of this.lanes) {
      if (active < concurrency) slots.set(fn, concurrency - active);
    }
    return slots;
  }

  private begin(claim: Claim): void {
    const lane = this.lanes.get(claim.fn);
    if (!lane) return this.settle({ claim, status: 'released' });
    lane.active += 1;
    const execution = new JobExecution(claim, lane.binding, this.options, this.source, (ended, outcome) => {
      lane.active -= 1;
      this.running.delete(ended);
      if (outcome) this.settle(outcome);
      this.slotFreed(claim.fn);
    });
    this.running.add(execution);
    execution.start();
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

  /** A claim that waits without this function's slots is called again with them. */
  private slotFreed(fn: string): void {
    this.wakeUp();
    if (this.claiming && !this.claiming.slots.has(fn)) this.claiming.abort.abort();
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

  private async renew(): Promise<void> {
    const held = new Map([...this.running].map((execution) => [execution.claim, execution]));
    if (held.size === 0) return;
    try {
      for (const claim of await this.source.renew([...held.keys()])) {
        held.get(claim)?.abort(new LeaseLostError(claim.fn, claim.id));
      }
    } catch (error) {
      this.options.log.warn(`Renewing leases failed: ${messageOf(error)}`);
    }
  }
}
