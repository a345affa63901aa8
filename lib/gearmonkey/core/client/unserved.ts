import { systemClock, withDeadline } from '../../../job/clock.js';
import type { JobStore } from './job-store.js';
import type { JobKey } from '../wire/protocol.js';
import { isBegun } from '../wire/stored-job.js';

/** How long a call waits for a function without a worker until that is logged. */
const PATIENCE_MS = 5000;
/** A call that has waited for too long doesn't wait much longer to say why. */
const ANSWER_MS = 500;
/** How many handlers a message names. */
const MAX_NAMED = 20;

/** What a process knows of its handlers, and where it logs. */
export interface HandlersHere {
  functions(): readonly string[];
  warn(message: string): void;
}

interface Waiting {
  readonly fn: string;
  readonly job: JobKey;
  readonly since: number;
}

/** Finds that calls wait for functions that have no worker, such as a misspelt one. Shared by a client and those made from it. */
export class UnservedFunctions {
  private readonly waiting = new Set<Waiting>();
  private readonly warned = new Set<string>();
  private here: HandlersHere | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @param patience in milliseconds */
  constructor(
    private readonly store: JobStore,
    private readonly patience = PATIENCE_MS,
  ) {}

  /** From now on it warns. */
  report(here: HandlersHere): void {
    this.here = here;
  }

  /** A call waits for this job. All calls share a timer. Returns a function that ends it. */
  waits(fn: string, job: JobKey): () => void {
    if (!this.here || this.warned.has(fn)) return () => undefined;
    const waiting = { fn, job, since: performance.now() };
    this.waiting.add(waiting);
    this.timer ??= setTimeout(() => this.look(), this.patience).unref();
    return () => this.waiting.delete(waiting);
  }

  /** Why a job does not begin, if that is known. */
  async reason(fn: string, job: JobKey): Promise<string | undefined> {
    const found = this.isUnserved(fn, job).then((unserved) => (unserved ? this.words(fn) : undefined));
    return withDeadline(found, ANSWER_MS, () => new Error('too late')).catch(() => undefined);
  }

  close(): void {
    clearTimeout(this.timer);
    this.waiting.clear();
  }

  private look(): void {
    this.timer = undefined;
    const now = performance.now();
    for (const waiting of this.waiting) {
      if (now - waiting.since < this.patience) continue;
      this.waiting.delete(waiting);
      this.warn(waiting).catch(() => undefined);
    }
    if (this.waiting.size > 0) this.timer = setTimeout(() => this.look(), this.patience).unref();
  }

  /** Once for each function. */
  private async warn({ fn, job }: Waiting): Promise<void> {
    if (this.warned.has(fn) || !(await this.isUnserved(fn, job)) || this.warned.has(fn)) return;
    this.warned.add(fn);
    this.here?.warn(
      `A call has waited for job ${job.id} of "${fn}" for ${this.patience} ms: ${this.words(fn)}.`,
    );
  }

  /** Workers in other languages need not register, but a job that has begun has a worker. */
  private async isUnserved(fn: string, { id }: JobKey): Promise<boolean> {
    const [[stored], workers] = await Promise.all([this.store.read(fn, [id]), this.store.workers(fn)]);
    if (stored === undefined || isBegun(stored)) return false;
    const now = (this.store.clock ?? systemClock).now();
    return !workers.some(({ until }) => until > now);
  }

  private words(fn: string): string {
    const all = this.here?.functions() ?? [];
    const named = all.slice(0, MAX_NAMED).map((name) => `"${name}"`);
    if (all.length > MAX_NAMED) named.push(`${all.length - MAX_NAMED} more`);
    const handlers = this.here ? `; handlers of this process: ${named.join(', ') || 'none'}` : '';
    return `it waits, and no worker of "${fn}" is registered${handlers}`;
  }
}
