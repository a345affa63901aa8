import { Injectable, type OnModuleDestroy } from '@nestjs/common';

/** How old what is shown may be. */
const FRESH_MS = 2000;

interface Snapshot {
  readonly at: number;
  readonly value: Promise<unknown>;
}

/** What was read of instances, for all pages and users: each question is asked at most once in two seconds. */
@Injectable()
export class Snapshots implements OnModuleDestroy {
  private readonly byInstance = new Map<string, Map<string, Snapshot>>();
  private sweeper: NodeJS.Timeout | undefined;

  /**
   * The answer to a question that was asked at most two seconds ago, or that is asked now. It is the same for all users: what
   * a user may not see is left out of it afterwards.
   *
   * @param question all that `read` depends on but the instance
   */
  take<T>(i: string, question: readonly unknown[], read: () => Promise<T>): Promise<T> {
    const known = this.byInstance.get(i) ?? new Map<string, Snapshot>();
    this.byInstance.set(i, known);
    const key = JSON.stringify(question);
    const found = known.get(key);
    if (found && isFresh(found)) return found.value as Promise<T>;
    const snapshot = { at: performance.now(), value: read() };
    known.set(key, snapshot);
    // Those who ask get the error; the next ones ask again.
    snapshot.value.catch(() => known.get(key) === snapshot && known.delete(key));
    this.sweeper ??= setTimeout(() => this.sweep(), FRESH_MS).unref();
    return snapshot.value;
  }

  /** Something has changed: what comes next is read again. */
  drop(i: string): void {
    this.byInstance.delete(i);
  }

  onModuleDestroy(): void {
    clearTimeout(this.sweeper);
    this.byInstance.clear();
  }

  /** What is no longer shown holds no memory. */
  private sweep(): void {
    for (const [i, known] of this.byInstance) {
      for (const [key, snapshot] of known) if (!isFresh(snapshot)) known.delete(key);
      if (known.size === 0) this.byInstance.delete(i);
    }
    const isEmpty = this.byInstance.size === 0;
    this.sweeper = isEmpty ? undefined : setTimeout(() => this.sweep(), FRESH_MS).unref();
  }
}

function isFresh({ at }: Snapshot): boolean {
  return performance.now() - at <= FRESH_MS;
}
