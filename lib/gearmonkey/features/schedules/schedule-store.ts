import type { Payload } from '../../../job/codec.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { DueSchedules, StoredFields } from './schedule-scripts.js';
import type { DeclaringApp, UniqueTick } from './spec.js';
import type { Slot } from './timing.js';

/** A job of a tick. */
export interface TickJob {
  /** Its slot, in ms since 1970. */
  readonly slot: number;
  /** When it may run, in ms since 1970. */
  readonly due: number;
  /** As JSON. */
  readonly options: string;
}

/** What one call does to a schedule whose tick is due. */
export interface Tick {
  readonly id: string;
  readonly version: string;
  /** The label of the due slot. */
  readonly slot: string;
  readonly next: Slot | undefined;
  /** How many jobs there are in all. */
  readonly limit: number | undefined;
  /** No job is created while the last one waits or runs. */
  readonly skipsIfRunning: boolean;
  readonly unique: UniqueTick | undefined;
  readonly input: Payload;
  readonly jobs: readonly TickJob[];
}

export interface FoundSchedules {
  /** The server's time, in ms since 1970. */
  readonly now: number;
  readonly schedules: readonly StoredFields[];
}

/** A job that a tick has created. */
export interface TickedJob {
  /** The id of the schedule. */
  readonly schedule: string;
  readonly id: string;
  /** Its mark, if the server has marks. */
  readonly mark?: number;
}

/** A schedule as it is written; absent to remove it. */
export interface WrittenSchedule {
  /** As JSON. */
  readonly spec: string;
  readonly version: string;
  readonly next: Slot | undefined;
}

/** The schedules of a GearMonkey server, which is Redis or in this process. */
export interface ScheduleStore {
  /** The functions of all schedules, by id. An entry may be left from one that was removed. */
  index(): Promise<ReadonlyMap<string, string>>;
  /** The function of a schedule. */
  functionOf(id: string): Promise<string | undefined>;
  /** Records the function of a schedule, or '' for none, if `known` is the one before. Returns the one that is recorded then. */
  enter(id: string, known: string, fn: string): Promise<string>;
  /** Records a version of an app. Returns those that are recorded, without lower ones; with `alone` only this one stays. */
  announce(app: DeclaringApp, alone: boolean): Promise<string[]>;
  /** Reads schedules of a function. */
  read(fn: string, ids: readonly string[]): Promise<FoundSchedules>;
  /** Reads all schedules of a function, some at a time. */
  pages(fn: string): AsyncIterable<readonly StoredFields[]>;
  /** Writes a schedule, or removes it. Returns false if it is not the one that was read any more. */
  write(
    fn: string,
    id: string,
    read: Pick<StoredFields, 'version' | 'slot'>,
    written: WrittenSchedule | undefined,
  ): Promise<boolean>;
  /** Reads some of the schedules that are due, without the first ones. */
  due(fn: string, passedOver: number): Promise<DueSchedules>;
  /** Creates jobs and sets the next ticks. What was done before is left out. */
  tick(fn: string, ticks: readonly Tick[]): Promise<{ wait: number; jobs: readonly TickedJob[] }>;
}

/** A store with schedules. */
export interface SchedulesStore extends JobStore {
  /** The schedules of recurring jobs. */
  readonly schedules: ScheduleStore;
}
