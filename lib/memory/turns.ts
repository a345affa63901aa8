import type { LimitedKey } from './limited-key.js';
import { Line } from './line.js';
import { LISTED, type Listed } from './memory-queues.js';

/** Keys with a job that may start now, in turn, for each priority. */
export class Turns {
  private readonly lines: Record<Listed, Line<LimitedKey>> = {
    high: new Line(),
    normal: new Line(),
    low: new Line(),
  };

  /** The job that starts next. */
  next(queue: Listed): string | undefined {
    return this.lines[queue].first?.next(queue);
  }

  /** Its turn is over: the others come first. */
  serve(key: LimitedKey, queue: Listed): void {
    if (this.lines[queue].delete(key)) this.lines[queue].push(key);
  }

  /** After a change of the key's jobs, or of whether they may start. Returns whether the key has a turn it had not. */
  refresh(key: LimitedKey, isOpen: boolean): boolean {
    let joins = false;
    for (const queue of LISTED) {
      const line = this.lines[queue];
      const isReady = isOpen && key.next(queue) !== undefined;
      if (line.has(key) === isReady) continue;
      if (isReady) line.push(key);
      else line.delete(key);
      joins ||= isReady;
    }
    return joins;
  }

  /** The keys that have a turn, the next one first. */
  keys(queue: Listed): Iterable<LimitedKey> {
    return this.lines[queue];
  }
}
