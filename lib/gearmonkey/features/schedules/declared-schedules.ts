import type { FunctionRef } from '../../../job/job-definition.js';
import { ScheduleOfOtherAppError } from '../../../job/schedule-errors.js';
import { compareVersions, highestOf } from './compare-versions.js';
import type { ScheduleOptions } from './recur-options.js';
import type { ScheduleStore } from './schedule-store.js';
import { ScheduleWriter } from './schedule-writer.js';
import { readSchedule } from './read-schedule.js';
import type { DeclaringApp, StoredSchedule } from './spec.js';

/** A schedule that stands in the code of an app. */
export interface Declaration {
  readonly ref: FunctionRef;
  readonly options: ScheduleOptions;
}

/** The schedules in the code of an app, as one of its processes knows them. */
export interface DeclaredSchedules {
  /** Without it nothing is removed, and the last process that starts decides. */
  readonly app?: DeclaringApp | undefined;
  /** Whether the schedules of a higher version are replaced, too. */
  readonly takesOver: boolean;
  readonly declared: readonly Declaration[];
  /** Ids in the code whose functions this process doesn't run. */
  readonly left: readonly string[];
  /** Ids that the configuration disables. */
  readonly disabled: readonly string[];
  /** Whether these are all ids in the code. */
  readonly isComplete: boolean;
}

/** Writes what the code declares, and removes what it has no more. A process of an older version changes nothing. */
export class ScheduleDeclarer {
  private readonly writer: ScheduleWriter;

  constructor(
    private readonly store: ScheduleStore,
    private readonly put: (
      declaration: Declaration,
      app: DeclaringApp | undefined,
      mayChange: (known: StoredSchedule) => boolean,
    ) => Promise<unknown>,
  ) {
    this.writer = new ScheduleWriter(store);
  }

  /** Returns the higher version that declares the schedules, if there is one. */
  async declare({
    app,
    takesOver,
    declared,
    left,
    disabled,
    isComplete,
  }: DeclaredSchedules): Promise<string | undefined> {
    if (app) {
      const highest = highestOf(await this.store.announce(app, takesOver));
      if (highest !== undefined && compareVersions(highest, app.version) > 0) return highest;
    }
    // A process of a higher version may start at the same time.
    const mayChange = ({ id, spec }: StoredSchedule): boolean => {
      if (takesOver || !spec.app) return true;
      if (spec.app.name !== app?.name) throw new ScheduleOfOtherAppError(id, spec.app.name);
      return compareVersions(spec.app.version, app.version) <= 0;
    };
    for (const { options } of declared) await this.check(options.id, mayChange);
    for (const declaration of declared) await this.put(declaration, app, mayChange);
    if (!app) return undefined;
    const ids = new Set([...declared.map(({ options }) => options.id), ...left]);
    const isGone = ({ id, spec }: StoredSchedule): boolean => {
      if (spec.app?.name !== app.name || ids.has(id)) return false;
      // Processes of one version may have different parts of its code: none removes what another declares.
      const isOlder = takesOver
        ? spec.app.version !== app.version
        : compareVersions(spec.app.version, app.version) < 0;
      return (
        (isComplete && isOlder) ||
        (disabled.includes(id) && compareVersions(spec.app.version, app.version) <= 0)
      );
    };
    await this.removeAll(isGone);
    return undefined;
  }

  /** Checks a schedule before any is written. @throws ScheduleOfOtherAppError */
  private async check(id: string, mayChange: (known: StoredSchedule) => boolean): Promise<void> {
    const fn = await this.store.functionOf(id);
    const known = fn === undefined ? undefined : await this.writer.find(fn, id);
    if (known) mayChange(known);
  }

  private async removeAll(isGone: (schedule: StoredSchedule) => boolean): Promise<void> {
    for (const fn of new Set((await this.store.index()).values())) {
      for await (const page of this.store.pages(fn)) {
        for (const stored of page) {
          const schedule = readSchedule(stored);
          if (schedule && isGone(schedule)) await this.writer.remove(fn, schedule.id, isGone);
        }
      }
    }
  }
}
