import type { JobTable } from '../storage/job-table.js';
import { Alarms } from './alarms.js';
import type { Targets } from './targets.js';

/** Targets that may have waiting rows, and the times at which more fall due. */
export class PolledTargets {
  private readonly pending = new Set<string>();
  private readonly alarms: Alarms;

  /** @param signal ends it */
  constructor(
    private readonly table: JobTable,
    private readonly targets: Targets,
    private readonly signal: AbortSignal,
    onPolled: () => void,
  ) {
    this.alarms = new Alarms((due) => {
      this.add(due);
      onPolled();
    });
    signal.addEventListener('abort', () => this.alarms.clear());
  }

  add(targets: readonly string[]): void {
    for (const target of targets) if (this.targets.has(target)) this.pending.add(target);
  }

  /** @param time seconds since 1970 */
  addAt(time: number, targets: readonly string[]): void {
    if (!this.signal.aborted) this.alarms.set(time, targets);
  }

  /** Whether one of them has room. */
  get isReady(): boolean {
    return [...this.pending].some((target) => this.targets.hasRoom(target));
  }

  /** Takes the polled targets that have room, and how much. Later polls count anew. */
  take(among: Iterable<string> = this.pending): Map<string, number> {
    const polled = [...among].filter((target) => this.pending.has(target));
    const rooms = polled.map((target) => [target, this.targets.roomOf(target)] as const);
    const ready = new Map(rooms.filter(([, room]) => room > 0));
    for (const target of ready.keys()) this.pending.delete(target);
    return ready;
  }

  /** Polls the targets when their next row falls due, unless they are polled anyway. @throws DatabaseError when aborted */
  async watchDue(targets: readonly string[], now: number): Promise<void> {
    const fetched = targets.filter((target) => !this.pending.has(target));
    if (fetched.length === 0) return;
    const ask = () => this.table.nextDue(fetched, now);
    const due = await this.table.database.insist(ask, { signal: this.signal });
    if (due !== undefined) this.addAt(due, fetched);
  }
}
