import type { FreeSlots } from '../../job/job-source.js';
import { Alarms } from './alarms.js';
import type { Targets } from './targets.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { JobTable } from '../storage/job-table.js';

/** Targets of which rows may wait, and the times when more of them will. */
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

  /** Those with room, and how much of it. A poll that comes from here on is another one. */
  take(slots: FreeSlots): Map<string, number> {
    const polled = slots.functions().filter((target) => this.pending.has(target));
    const rooms = polled.map((target) => [target, this.targets.roomOf(target)] as const);
    const ready = new Map(rooms.filter(([, room]) => room > 0));
    for (const target of ready.keys()) this.pending.delete(target);
    return ready;
  }

  /** There may be more where as many came as were asked for; elsewhere some may wait for their time. */
  lookFurther(asked: ReadonlyMap<string, number>, accepted: readonly AcceptedJob[], now: number): void {
    const came = (target: string) => accepted.filter((job) => job.target === target).length;
    const full = [...asked].filter(([target, free]) => came(target) >= free).map(([target]) => target);
    this.add(full);
    const empty = [...asked.keys()].filter((target) => !full.includes(target));
    // It fails only when the source is closed.
    if (empty.length > 0) void this.watchDue(empty, now).catch(() => undefined);
  }

  private async watchDue(targets: readonly string[], now: number): Promise<void> {
    const ask = () => this.table.nextDue(targets, now);
    const due = await this.table.database.insist(ask, { signal: this.signal });
    if (due !== undefined) this.addAt(due, targets);
  }
}
