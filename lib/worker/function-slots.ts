// Of the modules, not the globals: a test's fake timers must not keep an app from closing.
import { clearTimeout, setTimeout } from 'node:timers';
import type { Claim } from '../job/job-source.js';
import type { HandlerBinding } from './job-handler.js';

/** A claim that gets no slot in this time is released: the function's runs are no longer short. */
export const WAIT_MS = 20;
/** Renewal of a waiting claim ends after this time, so a busy or stopped process loses it to another worker. */
export const WAIT_LIMIT_MS = 1000;
/** How much work may be claimed ahead of free slots, in milliseconds of this function's runs. */
const AHEAD_MS = 1;
/** 50 cost a worker a third more CPU a job, 400 no less. */
const MAX_AHEAD = 200;
/** A longer run raises the estimate at once; a shorter one lowers it by this part of the difference. */
const FORGETTING = 1 / 4;

/**
 * One function's share of a worker: how many of its jobs run, and which are claimed and wait for a slot.
 * Jobs are claimed ahead only while runs are known to be short, so that no job waits behind a long one
 * while another worker is free.
 */
export class FunctionSlots {
  private readonly running = new Set<Claim>();
  private waiting: Claim[] = [];
  private movedAt = 0;
  /** Estimated milliseconds of one run. */
  private duration = Infinity;
  private onIdle: () => void = () => undefined;
  private readonly claimsAhead: boolean;
  private most: number;
  /** Whether its handler is being stopped: it gets no more jobs, and its concurrency stays 0. */
  isLeaving = false;

  constructor(
    readonly binding: HandlerBinding,
    claimsAhead: boolean,
  ) {
    // A claim counts for the function's limit, so none is made before the job can start.
    this.claimsAhead = claimsAhead && !binding.limits.limit && !binding.batch;
    this.most = binding.limits.concurrency;
    binding.batch?.allow(this.most);
  }

  /** How many of its jobs, or of its batches, may run at the same time; it changes while the app runs. */
  get concurrency(): number {
    return this.most;
  }

  set concurrency(most: number) {
    this.most = most;
    this.binding.batch?.allow(most);
  }

  /** How many of its jobs run. */
  get runs(): number {
    return this.running.size;
  }

  /** How many jobs may be claimed now. */
  get free(): number {
    const { batch } = this.binding;
    const room = batch ? batch.free(this.most, this.runs) : this.most + this.ahead - this.runs;
    return Math.max(0, room - this.waiting.length);
  }

  /** Whether the claim may begin at once; otherwise it waits for a slot. */
  take(claim: Claim, now: number): boolean {
    if (this.hasRoom) {
      this.running.add(claim);
      return true;
    }
    if (this.waiting.length === 0) this.movedAt = now;
    this.waiting.push(claim);
    return false;
  }

  /** The run of a job has ended: its place is free, and the estimate follows its length in milliseconds. */
  ended(claim: Claim, duration: number): void {
    this.running.delete(claim);
    this.binding.batch?.ended(claim);
    const known = this.duration !== Infinity && duration < this.duration;
    this.duration = known ? this.duration + (duration - this.duration) * FORGETTING : duration;
    if (this.runs === 0) this.onIdle();
  }

  /** Resolves when none of its jobs runs, or after `timeout` milliseconds. */
  async idle(timeout: number): Promise<void> {
    if (this.runs === 0 || timeout <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeout);
      this.onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** The claim that has waited longest, if a slot is free. */
  next(now: number): Claim | undefined {
    if (!this.hasRoom) return undefined;
    const claim = this.waiting.shift();
    if (!claim) return undefined;
    this.running.add(claim);
    this.movedAt = now;
    return claim;
  }

  /** Whether claims have waited for `limit` milliseconds and none of them began to run. */
  isStuck(now: number, limit: number): boolean {
    return this.waiting.length > 0 && now - this.movedAt >= limit;
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Removes a waiting claim. Returns false if it wasn't waiting. */
  drop(claim: Claim): boolean {
    const index = this.waiting.indexOf(claim);
    if (index >= 0) this.waiting.splice(index, 1);
    return index >= 0;
  }

  /**
   * Removes all waiting claims and returns them newest first: released in this order, the oldest ends up in front.
   * No job is claimed ahead until another run has ended.
   */
  giveUp(): Claim[] {
    this.duration = Infinity;
    return this.waiting.splice(0).reverse();
  }

  /** Whether another job may begin. A batch that began meanwhile has taken places that a claim was sent for. */
  private get hasRoom(): boolean {
    const { batch } = this.binding;
    return batch ? batch.free(this.most, this.runs) > 0 : this.runs < this.most;
  }

  private get ahead(): number {
    if (!this.claimsAhead) return 0;
    return Math.min(MAX_AHEAD, Math.floor((this.most * AHEAD_MS) / this.duration));
  }
}
