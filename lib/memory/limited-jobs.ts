import type { Queue } from '../gearmonkey/core/wire/protocol.js';
import { Agenda } from './agenda.js';
import { KeptMap } from './kept-map.js';
import { LimitedKey } from './limited-key.js';
import { LISTED, type Listed } from './memory-queues.js';

/** Jobs of one function that have a key, and where they wait. */
export class LimitedJobs {
  /** Keys that have jobs. */
  protected readonly keys = new KeptMap<LimitedKey>(
    (name) => new LimitedKey(name),
    (key) => key.isIdle,
  );
  /** The key of each job that has not ended. */
  protected readonly keyOf = new Map<string, LimitedKey>();
  /** Scheduled and retrying jobs. */
  protected readonly due = new Agenda<string>();

  has(id: string): boolean {
    return this.keyOf.has(id);
  }

  /** The jobs that wait in a queue, or until they are due. */
  idsIn(queue: Queue): string[] {
    if (queue === 'scheduled') return Array.from(this.due, ({ value }) => value);
    return Array.from(this.keys, ([, key]) => [...key.line(queue)]).flat();
  }

  /** The key of a job that waits, its queue, and when it is due: 0 if it only waits for its turn. */
  placeOf(id: string): { key: string; queue: Listed; due: number } {
    const key = this.keyOf.get(id);
    const queue = LISTED.find((listed) => key?.line(listed).has(id)) ?? 'normal';
    return { key: key?.name ?? '', queue, due: this.due.timeOf(id) ?? 0 };
  }

  /** The jobs of a key that wait, with those that wait until they are due, or that run. */
  jobsOf(name: string, which: 'waiting' | 'running'): string[] {
    return this.keys.get(name)?.jobs(which) ?? [];
  }
}
