import { ScheduleExistsError } from '../../../job/schedule-errors.js';
import { anchored, isSame, nextOf, type NewSpec } from './next-of.js';
import type { ScheduleStore } from './schedule-store.js';
import { readSchedule } from './read-schedule.js';
import type { StoredSchedule } from './spec.js';

/** What a change makes of a schedule: absent to leave it as it is, null to remove it. */
export type Changed = NewSpec | null | undefined;

/** How a schedule is written that need not exist. */
interface WriteOptions {
  /** Whether one of another function with this id may be removed. */
  readonly isOwn?: (other: StoredSchedule) => boolean;
  /** The time of the first job of a new one, also if that has passed. */
  readonly since?: number | undefined;
}

/** Changes schedules of a server. Each change holds if no other came between reading and writing; else it is made again. */
export class ScheduleWriter {
  constructor(private readonly store: ScheduleStore) {}

  /**
   * Writes a schedule that need not exist.
   *
   * @throws ScheduleExistsError if another function has one with this id
   */
  async put(
    fn: string,
    id: string,
    change: (known: StoredSchedule | undefined) => Changed,
    { isOwn = () => false, since }: WriteOptions = {},
  ): Promise<StoredSchedule | undefined> {
    for (;;) {
      if (!(await this.enter(fn, id, isOwn))) continue;
      const written = await this.change(fn, id, change, since);
      // Another client may have removed it from the index, because it removed the one before.
      if (!written || (await this.store.enter(id, '', fn)) === fn) return written;
      // Another function has got the id meanwhile. This ends with one of both, since each has withdrawn before it tries again.
      await this.change(fn, id, (known) => (known?.version === written.version ? null : undefined));
    }
  }

  /** Enters a schedule in the index. Returns false if it has to be tried again. @throws ScheduleExistsError */
  private async enter(fn: string, id: string, isOwn: (other: StoredSchedule) => boolean): Promise<boolean> {
    const owner = await this.store.enter(id, '', fn);
    if (owner === fn) return true;
    const [other] = (await this.store.read(owner, [id])).schedules;
    if (other) {
      const schedule = readSchedule(other);
      if (!schedule || !isOwn(schedule)) throw new ScheduleExistsError(id, owner);
      await this.remove(owner, id);
      return false;
    }
    // The entry may be left over, or of a call that has not written yet. That one writes and then looks here, this one
    // enters and then looks there: one of both sees the other.
    if ((await this.store.enter(id, owner, fn)) !== fn) return false;
    if ((await this.store.read(owner, [id])).schedules.length === 0) return true;
    await this.store.enter(id, fn, owner);
    return false;
  }

  /** Changes a schedule. Returns it as it is then; undefined if it does not exist any more. */
  async change(
    fn: string,
    id: string,
    change: (known: StoredSchedule | undefined, isThere: boolean) => Changed,
    since = Infinity,
  ): Promise<StoredSchedule | undefined> {
    for (;;) {
      const { now, schedules } = await this.store.read(fn, [id]);
      const [stored] = schedules;
      const known = stored && readSchedule(stored);
      const changed = change(known, stored !== undefined);
      if (changed === undefined) return known;
      const spec = changed && anchored(changed, known, now);
      if (spec && known && isSame(spec, known.spec)) return known;
      if (!spec && !stored) return undefined;
      const next = spec ? nextOf(spec, known, known ? now : Math.min(now, since - 1)) : undefined;
      const version = String(Math.max(now, (Number(stored?.version) || 0) + 1));
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
    const left = await this.change(fn, id, (known, isThere) => {
      removed = isThere && (known === undefined || mayRemove(known));
      return removed ? null : undefined;
    });
    if (left) return false;
    await this.store.enter(id, fn, '');
    // One that was written meanwhile is entered again. If another function has got the id, this one was removed before that.
    const isThere = (await this.store.read(fn, [id])).schedules.length > 0;
    if (isThere && (await this.store.enter(id, '', fn)) !== fn) await this.change(fn, id, () => null);
    return removed;
  }

  async find(fn: string, id: string): Promise<StoredSchedule | undefined> {
    const [stored] = (await this.store.read(fn, [id])).schedules;
    return stored && readSchedule(stored);
  }
}
