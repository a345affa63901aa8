import type { AcceptedJob } from '../storage/accepted-job.js';
import type { Duration } from '../../job/duration.js';
import type { RetryOptions } from '../../job/retry.js';
import { RequestError } from '../vocabulary/errors.js';
import type { TargetStatus } from '../vocabulary/operations.js';

/** Options of a target. */
export interface TargetOptions {
  /** How many run at once. */
  readonly concurrency: number;
  /** How long a job may run if its row has no timeout. @default no limit */
  readonly timeout?: Duration;
  /** Retries of failed jobs, if the table has the columns `attempts` and `time_scheduled`. @default none */
  readonly retry?: RetryOptions;
}

/** The same, checked. */
export interface CheckedTarget extends TargetOptions {
  /** Milliseconds. */
  readonly timeout?: number;
}

/** As in a configuration. */
const MAX_CONCURRENCY = 1_000_000;

/** A target's queue, first in first out, and its running jobs. */
class Target {
  readonly queue: AcceptedJob[] = [];
  readonly running = new Set<number>();
  isPaused = false;

  constructor(public options: CheckedTarget) {}

  get length(): number {
    return this.queue.length + this.running.size;
  }

  get canBegin(): boolean {
    return !this.isPaused && this.queue.length > 0 && this.running.size < this.options.concurrency;
  }
}

/** The daemon's queues. A name may be any string, also one that is a property of Object. */
export class Targets {
  private readonly targets = new Map<string, Target>();

  constructor(targets: ReadonlyMap<string, CheckedTarget>) {
    for (const [name, options] of targets) this.targets.set(name, new Target(options));
  }

  get names(): string[] {
    return [...this.targets.keys()];
  }

  has(name: string): boolean {
    return this.targets.has(name);
  }

  optionsOf(name: string): CheckedTarget | undefined {
    return this.targets.get(name)?.options;
  }

  /** The named targets, or all. @throws RequestError for a target that isn't served */
  select(names?: readonly string[]): string[] {
    const unknown = names?.find((name) => !this.has(name));
    if (unknown !== undefined) throw new RequestError(`invalid target '${unknown}'`);
    return names ? [...new Set(names)] : this.names;
  }

  /** @throws RequestError */
  add(name: string, concurrency: number): void {
    checkConcurrency(concurrency);
    if (this.has(name)) throw new RequestError(`target '${name}' already added`);
    this.targets.set(name, new Target({ concurrency }));
  }

  /** @throws RequestError */
  remove(name: string): void {
    if (this.get(name).length > 0) throw new RequestError('queue is not empty');
    this.targets.delete(name);
  }

  /** @throws RequestError */
  setConcurrency(name: string, concurrency: number): void {
    checkConcurrency(concurrency);
    const target = this.get(name);
    target.options = { ...target.options, concurrency };
  }

  setPaused(names: readonly string[], isPaused: boolean): void {
    for (const name of names) this.get(name).isPaused = isPaused;
  }

  /** Whether more rows may be fetched for a target. */
  hasRoom(name: string): boolean {
    return this.roomOf(name) > 0;
  }

  /** How many more rows a target may take; none while it is paused. */
  roomOf(name: string): number {
    const target = this.targets.get(name);
    return target && !target.isPaused ? target.options.concurrency - target.length : 0;
  }

  /** False if the target has been removed. */
  enqueue(job: AcceptedJob): boolean {
    const target = this.targets.get(job.target);
    target?.queue.push(job);
    return target !== undefined;
  }

  /** Takes the jobs that may begin now; each holds a slot until `free`. */
  takeRunnable(): AcceptedJob[] {
    return [...this.targets.values()].flatMap((target) => {
      const jobs: AcceptedJob[] = [];
      while (target.canBegin) {
        const job = target.queue.shift();
        if (!job) break;
        target.running.add(job.id);
        jobs.push(job);
      }
      return jobs;
    });
  }

  /** Sets the concurrency to the running jobs plus `room`. */
  setRoom(name: string, room: number): void {
    const target = this.targets.get(name);
    if (target) target.options = { ...target.options, concurrency: target.running.size + room };
  }

  /** Gives a running job a slot until `free`. */
  hold({ target, id }: Pick<AcceptedJob, 'id' | 'target'>): void {
    this.targets.get(target)?.running.add(id);
  }

  /** Whether a job may begin at once; if so it holds a slot until `free`. */
  reserve({ target: name, id }: Pick<AcceptedJob, 'id' | 'target'>): boolean {
    const target = this.targets.get(name);
    if (!target || target.running.has(id) || !this.hasRoom(name)) return false;
    target.running.add(id);
    return true;
  }

  free({ target, id }: Pick<AcceptedJob, 'id' | 'target'>): void {
    this.targets.get(target)?.running.delete(id);
  }

  /** Empties the queues; running jobs continue. */
  takeQueued(): AcceptedJob[] {
    return [...this.targets.values()].flatMap(({ queue }) => queue.splice(0));
  }

  status(): Record<string, TargetStatus> {
    // Unlike an assignment, this also works for a target called `__proto__`.
    return Object.fromEntries(
      [...this.targets].map(([name, { isPaused, options, length }]) => [
        name,
        { paused: isPaused, concurrency: options.concurrency, length },
      ]),
    );
  }

  private get(name: string): Target {
    const target = this.targets.get(name);
    if (!target) throw new RequestError(`target '${name}' not found`);
    return target;
  }
}

function checkConcurrency(concurrency: number): void {
  if (!Number.isInteger(concurrency) || concurrency <= 0 || concurrency > MAX_CONCURRENCY)
    throw new RequestError('Invalid concurrency value.');
}
