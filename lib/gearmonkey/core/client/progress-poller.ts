import type { JobProgress } from '../../../job/job.js';
import type { JobStore, MarkedProgress } from './job-store.js';

const POLL_MS = 500;
/** Most jobs polled in one round; with more, each is polled in its turn. */
const MAX_POLLED = 200;
/** Most running jobs remembered for observers of a whole function. */
const MAX_REMEMBERED = 10_000;

/**
 * Plain workers write progress into the job's hash and publish nothing. This polls the hash of observed jobs, unless
 * their worker publishes progress.
 */
export class ProgressPoller {
  private readonly watched = new Set<string>();
  private readonly running = new Set<string>();
  private readonly publishing = new Set<string>();
  private readonly observers = new Set<object>();
  private readonly last = new Map<string, string>();
  private timer?: NodeJS.Timeout;
  private polling = false;

  constructor(
    private readonly store: JobStore,
    private readonly fn: string,
    private readonly deliver: (progress: JobProgress, mark: number | undefined) => void,
  ) {}

  watch(id: string): void {
    this.watched.add(id);
    this.start();
  }

  unwatch(id: string): void {
    this.watched.delete(id);
    if (!this.running.has(id)) this.forget(id);
  }

  /** Polls every job that starts while `observer` is subscribed. */
  watchAll(observer: object): void {
    this.observers.add(observer);
    this.start();
  }

  unwatchAll(observer: object): void {
    this.observers.delete(observer);
    if (this.observers.size === 0) for (const id of this.running) this.finished(id);
  }

  /** Adds a started job. If there are too many, the one that was read longest ago is dropped. */
  started(id: string): void {
    if (this.observers.size === 0) return;
    if (this.running.size >= MAX_REMEMBERED)
      for (const oldest of first(this.running, 1)) this.finished(oldest);
    this.running.add(id);
  }

  finished(id: string): void {
    this.running.delete(id);
    if (!this.watched.has(id)) this.forget(id);
  }

  /** After missed messages all jobs are polled again, until their worker publishes. */
  resync(): void {
    this.publishing.clear();
  }

  /** Stops polling a job, because its worker publishes progress. */
  published(id: string): void {
    if (this.watched.has(id) || this.running.has(id)) this.publishing.add(id);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    for (const ids of [this.watched, this.running, this.publishing]) ids.clear();
    this.last.clear();
  }

  private start(): void {
    this.timer ??= setInterval(() => void this.poll(), POLL_MS).unref();
  }

  private forget(id: string): void {
    this.publishing.delete(id);
    this.last.delete(id);
  }

  /** Polls one round. If a read fails, the next round tries again. */
  private async poll(): Promise<void> {
    const ids = this.nextIds();
    if (this.polling || ids.length === 0) return;
    this.polling = true;
    try {
      const found = await this.store.readProgress(this.fn, ids);
      found.forEach(({ progress, isOver }, index) => {
        const id = ids[index] as string;
        if (progress) this.changed(id, progress);
        if (isOver) this.finished(id);
      });
    } catch {
      return;
    } finally {
      this.polling = false;
    }
  }

  private changed(id: string, { dividend, divisor, mark }: MarkedProgress): void {
    const text = `${dividend}/${divisor}`;
    if (this.publishing.has(id) || this.last.get(id) === text) return;
    if (!this.watched.has(id) && !this.running.has(id)) return;
    this.last.set(id, text);
    this.deliver({ fn: this.fn, id, dividend, divisor }, mark);
  }

  /** Takes the next ids round robin. */
  private nextIds(): string[] {
    const ids: string[] = [];
    for (const set of [this.watched, this.running]) {
      for (const id of first(set, MAX_POLLED)) {
        set.delete(id);
        set.add(id);
        if (!this.publishing.has(id)) ids.push(id);
      }
    }
    return [...new Set(ids)];
  }
}

function first<T>(set: ReadonlySet<T>, count: number): T[] {
  const found: T[] = [];
  for (const value of set) {
    if (found.length === count) break;
    found.push(value);
  }
  return found;
}
