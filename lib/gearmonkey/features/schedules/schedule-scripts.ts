import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';

const defineScript = scriptsIn(LUA);

type Bytes = string | Uint8Array;
/** Milliseconds since 1970, or '' for the server's clock. */
type Now = number | '';

/** A schedule as it is stored. Values that it lacks are ''. */
export interface StoredFields {
  readonly id: string;
  /** What its client wrote, as JSON. */
  readonly spec: string;
  readonly version: string;
  /** The slot of its next tick. */
  readonly slot: string;
  readonly time: string;
  readonly previous: string;
  readonly made: string;
  /** Its last job, as "id:mark". */
  readonly job: string;
}

interface ReadSchedules {
  /** The server's time, in ms since 1970. */
  readonly now: number;
  readonly schedules: readonly StoredFields[];
}

/** A page of schedules, or those that were named. */
export interface SchedulesPage extends ReadSchedules {
  /** The cursor of the next one; 0 after the last one. */
  readonly next: string;
}

/** Schedules that are due. */
export interface DueSchedules extends ReadSchedules {
  /** Milliseconds until the first tick that is not due yet, or -1; 0 if more of them are due. */
  readonly wait: number;
}

const VALUES = 8;

export const schedules = defineScript<
  [now: Now, which: 'named' | 'page', most: number, from: readonly string[]],
  SchedulesPage
>('schedules', (reply) => {
  const [now, next, ...values] = reply as [number, Buffer, ...Buffer[]];
  return { now, next: String(next), schedules: fieldsOf(values) };
});

export const due = defineScript<[now: Now, most: number, passedOver: number], DueSchedules>(
  'due',
  (reply) => {
    const [now, wait, ...values] = reply as [number, number, ...Buffer[]];
    return { now, wait, schedules: fieldsOf(values) };
  },
);

function fieldsOf(values: readonly Buffer[]): StoredFields[] {
  const found: StoredFields[] = [];
  for (let from = 0; from < values.length; from += VALUES) {
    const [id = '', spec = '', version = '', slot = '', time = '', previous = '', made = '', job = ''] =
      values.slice(from, from + VALUES).map(String);
    found.push({ id, spec, version, slot, time, previous, made, job });
  }
  return found;
}

/** Returns whether it was written: false if another call has changed it since it was read. */
export const writeSchedule = defineScript<
  [
    id: string,
    version: string,
    slot: string,
    spec: string,
    next: string,
    nextSlot: string,
    time: number | '',
  ],
  boolean
>('write-schedule', (reply) => reply === 1);

/** Returns the function that is recorded then, or ''. */
export const enterSchedule = defineScript<[id: string, known: string, fn: string], string>(
  'enter-schedule',
  String,
);

export interface Ticked {
  /** Milliseconds until the next tick of the function, or -1. */
  readonly wait: number;
  readonly jobs: readonly { readonly schedule: string; readonly id: string }[];
}

/** Creates the jobs of due ticks, and sets the next ones. */
export const tick = defineScript<[now: Now, mark: number, ticks: Bytes[]], Ticked>('tick', (reply) => {
  const [wait, ...created] = reply as [number, ...Buffer[]];
  const jobs = created.flatMap((schedule, index) =>
    index % 2 === 0 ? [{ schedule: String(schedule), id: String(created[index + 1]) }] : [],
  );
  return { wait, jobs };
});
