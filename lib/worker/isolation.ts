// Of the modules, not the globals: a test's fake timers must not keep an app from closing.
import { clearTimeout, setTimeout } from 'node:timers';
import type { Claim } from '../job/job-source.js';

/**
 * How long a suspect waits for the other jobs of its process to end, and for how long at most no job begins beside it. A handler
 * that never ends must not keep its process from all other work.
 */
const ALONE_MS = 30_000;

/** What a worker does for an isolation. */
export interface IsolatedWorker {
  /** How many of its jobs run. */
  readonly runs: number;
  /** Whether it may claim and begin jobs. */
  setOpen(isOpen: boolean): void;
  /** Notes that a suspect of its own has to wait. */
  holdSuspect(claim: Claim): void;
  /** Begins a suspect of its own. */
  beginSuspect(claim: Claim): void;
  /** Gives back a suspect of its own that could not begin. */
  releaseSuspect(claim: Claim): void;
}

/**
 * Lets a suspect run alone in its process: a job that has lost its worker as often as it may, perhaps because of another job in the
 * same process. While there is one, no worker of the process begins another job.
 */
export class Isolation {
  private readonly workers = new Set<IsolatedWorker>();
  private suspect:
    { readonly claim: Claim; readonly owner: IsolatedWorker; phase: 'waits' | 'begins' } | undefined;
  private running: Claim | undefined;
  private timer?: NodeJS.Timeout | undefined;

  /** @param patience milliseconds */
  constructor(private readonly patience: number = ALONE_MS) {}

  /** Whether no job may begin. */
  isClosed = false;

  join(worker: IsolatedWorker): void {
    this.workers.add(worker);
    if (this.isClosed) worker.setOpen(false);
  }

  /** A worker stops. Returns its suspect, if that has not begun. */
  leave(worker: IsolatedWorker): Claim | undefined {
    this.workers.delete(worker);
    const claim = this.suspect?.owner === worker ? this.suspect.claim : undefined;
    if (claim) this.end();
    return claim;
  }

  /** Whether the suspect that waits to begin is a job of this worker. */
  isOf(worker: IsolatedWorker): boolean {
    return this.suspect?.owner === worker;
  }

  /** The suspect that waits to begin, if there is one. */
  get waiting(): Claim | undefined {
    return this.suspect?.claim;
  }

  /** Begins a suspect as soon as nothing else runs. Not while it is closed. */
  add(claim: Claim, owner: IsolatedWorker): void {
    this.suspect = { claim, owner, phase: 'waits' };
    this.isClosed = true;
    for (const worker of this.workers) worker.setOpen(false);
    if (this.isIdle) return this.begin();
    owner.holdSuspect(claim);
    this.timer = setTimeout(() => this.begin(), this.patience).unref();
  }

  /** The suspect has begun. */
  begun(claim: Claim): void {
    clearTimeout(this.timer);
    this.suspect = undefined;
    this.running = claim;
    this.timer = setTimeout(() => this.end(), this.patience).unref();
  }

  /** A job has ended, or a suspect that waited is not to run any more. Returns whether it was the suspect. */
  ended(claim: Claim): boolean {
    const isSuspect = claim === this.running || claim === this.suspect?.claim;
    if (isSuspect) this.end();
    else if (this.isIdle) this.begin();
    return isSuspect;
  }

  private get isIdle(): boolean {
    return ![...this.workers].some(({ runs }) => runs > 0);
  }

  private begin(): void {
    const { suspect } = this;
    if (suspect?.phase !== 'waits') return;
    clearTimeout(this.timer);
    suspect.phase = 'begins';
    // A server that refuses to note it must not keep the process from the jobs of others.
    this.timer = setTimeout(() => this.giveUp(), this.patience).unref();
    suspect.owner.beginSuspect(suspect.claim);
  }

  private giveUp(): void {
    const { suspect } = this;
    this.end();
    suspect?.owner.releaseSuspect(suspect.claim);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.suspect = undefined;
    this.running = undefined;
    this.isClosed = false;
    for (const worker of this.workers) worker.setOpen(true);
  }
}
