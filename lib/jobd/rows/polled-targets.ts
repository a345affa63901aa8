import type { JobTable } from '../storage/job-table.js';
import { nowInSeconds } from '../storage/row-writer.js';
import type { Targets } from './targets.js';
import { MAX_TIMER_MS } from '../../job/duration.js';

/** A poll that has ended. */
export interface Poll {
  /** The time it asked for, in seconds since 1970. */
  readonly now: number;
  /** Rows that the table refuses. They wait, but another poll would not help. */
  readonly refused: ReadonlySet<number>;
}

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

  /**
   * Polls the targets again for rows that the poll did not get, unless they are polled anyway: in a second for rows that
   * were locked, since another poll may only have looked at them; later for rows that fall due.
   *
   * @throws DatabaseError when aborted
   */
  async watchRest(targets: readonly string[], { now, refused }: Poll): Promise<void> {
    const fetched = targets.filter((target) => !this.pending.has(target));
    if (fetched.length === 0) return;
    const { acceptance, database } = this.table;
    const ask = () => this.table.nextDue(fetched, now);
    const due = await database.insist(ask, { signal: this.signal });
    if (due !== undefined) this.addAt(due, fetched);
    if (!database.traits.skipLocked) return;
    const look = () => acceptance.dueRows(fetched, refused.size + 1, now);
    const waiting = await database.insist(look, { signal: this.signal });
    if (waiting.some(({ id }) => !refused.has(id))) this.addAt(nowInSeconds() + 1, fetched);
  }
}

/** Calls back with targets at given times; targets with the same time come together. */
class Alarms {
  private readonly alarms = new Map<number, { timer: NodeJS.Timeout; targets: Set<string> }>();

  constructor(private readonly ring: (targets: readonly string[]) => void) {}

  /** @param time seconds since 1970; the call for a time in the far future comes early */
  set(time: number, targets: readonly string[]): void {
    const alarm = this.alarms.get(time) ?? { timer: this.timerTo(time), targets: new Set() };
    for (const target of targets) alarm.targets.add(target);
    this.alarms.set(time, alarm);
  }

  clear(): void {
    for (const { timer } of this.alarms.values()) clearTimeout(timer);
    this.alarms.clear();
  }

  private timerTo(time: number): NodeJS.Timeout {
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, time * 1000 - Date.now()));
    return setTimeout(() => {
      const targets = this.alarms.get(time)?.targets ?? [];
      this.alarms.delete(time);
      this.ring([...targets]);
    }, wait);
  }
}
