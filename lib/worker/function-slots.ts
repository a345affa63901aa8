import type { FreeSlots, Claim } from '../job/job-source.js';
// Of the modules, not the globals: a test's fake timers must not keep an app from closing.
import { clearTimeout, setTimeout } from 'node:timers';
import type { HandlerBinding } from './job-handler.js';

/** A claim that gets no slot in this time is released: the function's runs are no longer short. */
export const WAIT_MS = 20;
/** Renewal of a waiting claim ends after this time, so a busy or stopped process loses it to another worker: it is not begun then. */
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
  private readonly waiting: Claim[] = [];
  /** Since when each of them waits. */
  private readonly since: number[] = [];
  private movedAt = 0;
  /** Estimated milliseconds of one run. */
  private duration = Infinity;
  /** Ends `idle`, if that waits. */
  private onIdle?: () => void;
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
    this.since.push(now);
    return false;
  }

  /** The run of a job has ended: its place is free, and the estimate follows its length in milliseconds. */
  ended(claim: Claim, duration: number): void {
    this.running.delete(claim);
    this.binding.batch?.ended(claim);
    const known = this.duration !== Infinity && duration < this.duration;
    this.duration = known ? this.duration + (duration - this.duration) * FORGETTING : duration;
    if (this.runs === 0) this.onIdle?.();
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
    this.since.shift();
    this.running.add(claim);
    this.movedAt = now;
    return claim;
  }

  /** Whether claims have waited for a while and none of them began to run. */
  isStuck(now: number): boolean {
    return this.waiting.length > 0 && now - this.movedAt >= WAIT_MS;
  }

  /** Whether the claim that has waited longest may be over, as others began before it. */
  isOverdue(now: number): boolean {
    return now - (this.since[0] ?? now) >= WAIT_LIMIT_MS;
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Removes a waiting claim. Returns false if it wasn't waiting. */
  drop(claim: Claim): boolean {
    const index = this.waiting.indexOf(claim);
    if (index < 0) return false;
    this.waiting.splice(index, 1);
    this.since.splice(index, 1);
    return true;
  }

  /**
   * Removes all waiting claims and returns them newest first: released in this order, the oldest ends up in front.
   * No job is claimed ahead until another run has ended.
   */
  giveUp(): Claim[] {
    this.since.length = 0;
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

/** The free slots of a worker's functions, which a source reads before it claims. */
export class SlotTable implements FreeSlots {
  private readonly free = new Map<string, number>();
  private readonly listeners = new Set<(fn: string) => void>();

  constructor(free: Iterable<readonly [fn: string, count: number]> = []) {
    for (const [fn, count] of free) this.set(fn, count);
  }

  /** Whether no function has a free slot. */
  get isEmpty(): boolean {
    return this.free.size === 0;
  }

  of(fn: string): number {
    return this.free.get(fn) ?? 0;
  }

  functions(): readonly string[] {
    return [...this.free.keys()];
  }

  onFree(listener: (fn: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(fn: string, count: number): void {
    if (count === 0) return void this.free.delete(fn);
    const hadNone = !this.free.has(fn);
    this.free.set(fn, count);
    if (hadNone) for (const listener of this.listeners) listener(fn);
  }
}

/** A function that a worker runs. */
export interface RunningFunction {
  readonly fn: string;
  /** How many of its jobs, or of its batches, may run at the same time in this process; 0 if it is paused. */
  readonly concurrency: number;
  /** How many run now. */
  readonly running: number;
}

/** The functions of a worker, and how many jobs of each may be claimed. */
export class FunctionTable {
  /** The free slots that a source reads. */
  readonly free = new SlotTable();
  private readonly functions = new Map<string, FunctionSlots>();
  /** Whether jobs may begin; not while a suspect waits or runs alone. */
  isOpen = true;

  /** @param onFree called when a function has a free slot again, also after a batch whose jobs had all ended before it */
  constructor(
    bindings: readonly HandlerBinding[],
    private readonly claimsAhead: boolean,
    onFree: () => void = () => undefined,
  ) {
    this.free.onFree(onFree);
    for (const binding of bindings) this.add(binding);
  }

  get names(): string[] {
    return [...this.functions.keys()];
  }

  all(): Iterable<FunctionSlots> {
    return this.functions.values();
  }

  get(fn: string): FunctionSlots | undefined {
    return this.functions.get(fn);
  }

  list(): RunningFunction[] {
    return [...this.functions].map(([fn, { concurrency, runs }]) => ({ fn, concurrency, running: runs }));
  }

  add(binding: HandlerBinding): void {
    const { name } = binding.definition;
    this.functions.set(name, new FunctionSlots(binding, this.claimsAhead));
    if (binding.batch) binding.batch.onPlaces = () => this.update(name);
    this.update(name);
  }

  delete(fn: string): void {
    this.functions.delete(fn);
    this.update(fn);
  }

  /** Updates the free slots of a function. */
  update(fn: string): void {
    this.free.set(fn, this.isOpen ? (this.functions.get(fn)?.free ?? 0) : 0);
  }

  /** Whether there are free slots at all. */
  setOpen(isOpen: boolean): void {
    this.isOpen = isOpen;
    for (const fn of this.functions.keys()) this.update(fn);
  }

  /** Drops a claim that waited for a slot. */
  drop(claim: Claim): boolean {
    const dropped = this.functions.get(claim.fn)?.drop(claim) ?? false;
    if (dropped) this.update(claim.fn);
    return dropped;
  }
}
