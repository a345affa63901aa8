import type { Claim, JobSource } from '../job/job-source.js';
import { realNow } from '../job/real-time.js';
import type { FunctionSlots, FunctionTable } from './function-slots.js';
import type { Isolation, IsolatedWorker } from './isolation.js';
import type { JobLog } from './job-log.js';
import type { RunningExecutions } from './running-executions.js';
import type { Settler } from './settler.js';

/** Whether the server has noted a suspect: its claim holds, is lost, or this is not known, as when the source was closed. */
type Noted = 'held' | 'lost' | 'failed';

export interface SuspectsParts {
  readonly source: Pick<JobSource, 'leases'>;
  readonly functions: FunctionTable;
  readonly running: RunningExecutions;
  readonly jobLog: JobLog;
  readonly settler: Settler;
  /** Begins a claim that has a slot. */
  readonly begin: (claim: Claim, slots: FunctionSlots) => void;
  /** Gives back the claims of a function that wait for slots. */
  readonly giveBack: (slots: FunctionSlots) => void;
}

/** A worker's jobs that may be what ended their workers. Each runs alone in its process. */
export class Suspects implements IsolatedWorker {
  private noted: Promise<Noted> = Promise.resolve('held');

  constructor(
    private readonly isolation: Isolation,
    private readonly parts: SuspectsParts,
  ) {
    isolation.join(this);
  }

  get runs(): number {
    return this.parts.running.size;
  }

  /** Of claims with a suspect only that one stays: it begins when nothing else runs. */
  take(claims: readonly Claim[]): void {
    const suspect = this.isolation.isClosed ? undefined : claims.find((claim) => claim.suspect);
    // Newest first, so that the oldest ends up in front.
    for (const claim of claims.toReversed()) if (claim !== suspect) this.release(claim);
    if (suspect) this.isolation.add(suspect, this);
  }

  /** A job has ended, or its claim does not hold. Returns whether it was the suspect. */
  ended(claim: Claim): boolean {
    return this.isolation.ended(claim);
  }

  /** The suspect that has not begun, if there is one. */
  get waiting(): Claim[] {
    const { isolation } = this;
    return isolation.waiting && isolation.isOf(this) ? [isolation.waiting] : [];
  }

  /** Gives back the suspect that has not begun, if it is of this function. */
  withdraw(fn: string): void {
    for (const claim of this.waiting.filter((one) => one.fn === fn)) {
      this.isolation.ended(claim);
      this.release(claim);
    }
  }

  /** Gives back the suspect that has not begun; there will be no other. */
  close(): void {
    const claim = this.isolation.leave(this);
    if (claim) this.release(claim);
  }

  setOpen(isOpen: boolean): void {
    const { functions, giveBack } = this.parts;
    if (!isOpen) for (const slots of functions.all()) giveBack(slots);
    functions.setOpen(isOpen);
  }

  holdSuspect(claim: Claim): void {
    this.noted = this.isolate(claim, false);
  }

  /** In this order, also if calls are repeated. */
  beginSuspect(claim: Claim): void {
    const before = this.noted;
    void before
      .then(() => this.isolate(claim, true))
      .then((noted) => this.begin(claim, noted))
      .finally(() => {
        // Unless there is another suspect by then.
        if (this.noted === before) this.noted = Promise.resolve('held');
      });
  }

  releaseSuspect(claim: Claim): void {
    this.parts.functions.get(claim.fn)?.drop(claim);
    this.release(claim);
  }

  /** During an outage, or while writes are refused, it waits. */
  private async isolate(claim: Claim, begins: boolean): Promise<Noted> {
    try {
      return ((await this.parts.source.leases?.isolate?.(claim, begins)) ?? true) ? 'held' : 'lost';
    } catch {
      return 'failed';
    }
  }

  private begin(claim: Claim, noted: Noted): void {
    const { isolation } = this;
    const { functions, jobLog, begin } = this.parts;
    if (isolation.waiting !== claim) return;
    const slots = functions.get(claim.fn);
    if (noted === 'held' && slots?.take(claim, realNow())) {
      isolation.begun(claim);
      jobLog.suspected(claim);
      return begin(claim, slots);
    }
    slots?.drop(claim);
    isolation.ended(claim);
    // If that is not known, the server refuses it.
    if (noted !== 'lost') this.release(claim);
  }

  private release(claim: Claim): void {
    this.parts.settler.settle({ claim, status: 'released' });
  }
}
