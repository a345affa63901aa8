import { ScheduleExistsError } from '../../job/schedule-errors.js';
import { anchored, isSame, nextOf, type NewSpec } from './next-of.js';
import type { ScheduleStore } from './schedule-store.js';
import { readSchedule, type StoredSchedule } from './spec.js';

/** What a change makes of a schedule: absent to leave it as it is, null to remove it. */
export type Changed = NewSpec | null | undefined;

/** Changes schedules of a server. Each change holds if no other came between reading and writing; else it is made again. */
export class ScheduleWriter {
  constructor(private readonly store: ScheduleStore) {}

  /**
   * Writes a schedule that need not exist.
   *
   * @param isOwn whether one of another function with this id may be removed
   * @throws ScheduleExistsError if another function has one with this id
   */
  async put(
    fn: string,
    id: string,
    change: (known: StoredSchedule | undefined) => Changed,
    isOwn: (other: StoredSchedule) => boolean = () => false,
  ): Promise<StoredSchedule | undefined> {
    for (;;) {
      const owner = await this.store.enter(id, fn);
      if (owner === fn) break;
      const other = await this.find(owner, id);
      if (other && !isOwn(other)) throw new ScheduleExistsError(id, owner);
      await this.remove(owner, id);
    }
    const written = await this.change(fn, id, change);
    // Another client may have removed it from the index, because it removed the one before.
    if (written) await this.store.enter(id, fn);
    return written;
  }

  /** Changes a schedule. Returns it as it is then; undefined if it does not exist any more. */
  async change(
    fn: string,
    id: string,
    change: (known: StoredSchedule | undefined) => Changed,
  ): Promise<StoredSchedule | undefined> {
    for (;;) {
      const { now, schedules } = await this.store.read(fn, [id]);
      const [stored] = schedules;
      const known = stored && readSchedule(stored);
      const changed = change(known);
      if (changed === undefined) return known;
      const spec = changed && anchored(changed, known, now);
      if (spec && known && isSame(spec, known.spec)) return known;
      if (!spec && !stored) return undefined;
      const next = spec ? nextOf(spec, known, now) : undefined;
      const version = String(Math.max(now, Number(stored?.version ?? 0) + 1));
      const written = spec ? { spec: JSON.stringify(spec), version, next } : undefined;
      const read = { version: stored?.version ?? '', slot: stored?.slot ?? '' };
      if (!(await this.store.write(fn, id, read, written))) continue;
      const { slot: _, ...before } = known ?? { made: 0, slot: undefined };
      return spec ? { ...before, id, spec, version, ...(next && { slot: next }) } : undefined;
    }
  }

  /** Removes a schedule. Returns whether there was one. */
  async remove(
    fn: string,
    id: string,
    mayRemove: (known: StoredSchedule) => boolean = () => true,
  ): Promise<boolean> {
    let removed = false;
    // The index comes first: a schedule that is written meanwhile enters itself again.
    await this.store.erase(id);
    await this.change(fn, id, (known) => {
      removed = known === undefined || mayRemove(known);
      return removed ? null : undefined;
    }).then((left) => left && this.store.enter(id, fn));
    return removed;
  }

  async find(fn: string, id: string): Promise<StoredSchedule | undefined> {
    const [stored] = (await this.store.read(fn, [id])).schedules;
    return stored && readSchedule(stored);
  }
}
