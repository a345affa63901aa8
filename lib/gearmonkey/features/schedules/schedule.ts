import { recordsOf } from '../../../job/show-as.js';
import { defined } from '../../../job/defined.js';
import type { CatchUp, DeclaringApp, StoredSchedule } from './spec.js';

/** A schedule of recurring jobs, as it is on the server. */
export interface Schedule<Input = unknown> {
  readonly id: string;
  readonly fn: string;
  readonly cron?: string;
  /** Whether the pattern begins with a field for seconds. */
  readonly seconds: boolean;
  readonly timezone?: string;
  /** Milliseconds. */
  readonly every?: number;
  readonly from?: Date;
  readonly until?: Date;
  readonly limit?: number;
  readonly catchUp: CatchUp;
  /** Milliseconds. */
  readonly jitter: number;
  readonly ifRunning: 'queue' | 'skip';
  readonly input: Input;
  readonly paused: boolean;
  /** The slot of the next job. Absent if it is paused or has ended. */
  readonly next?: Date;
  /** The slot of the last job. */
  readonly previous?: Date;
  /** The id of the last job. It may be gone by now. */
  readonly lastJob?: string;
  /** How many jobs it has created. */
  readonly created: number;
  /** The app whose code declares it. Absent for one that `recur` made. */
  readonly app?: DeclaringApp;
  /** Why this program can't create its jobs, if another one has written it. Then only `id` and `fn` are certain. */
  readonly problem?: string;
}

const asSchedule = recordsOf<Schedule>('Schedule');

/** A schedule that this program can't read. */
export function toMalformed(fn: string, id: string, problem: string): Schedule {
  const nothing = { seconds: false, catchUp: 'last', jitter: 0, ifRunning: 'queue', paused: false } as const;
  return asSchedule({ id, fn, ...nothing, input: undefined, created: 0, problem });
}

export function toSchedule(
  fn: string,
  { id, spec, slot, previous, made, job }: StoredSchedule,
  input: unknown,
  problem?: string,
): Schedule {
  const { cron, timezone, every, from, until, limit, app } = spec;
  return asSchedule(
    defined({
      ...{ id, fn, cron, timezone, every, limit, input, app, problem },
      from: dateOf(from),
      until: dateOf(until),
      seconds: spec.seconds ?? false,
      catchUp: spec.catchUp ?? 'last',
      jitter: spec.jitter ?? 0,
      ifRunning: spec.ifRunning ?? 'queue',
      paused: spec.paused ?? false,
      next: dateOf(slot?.time),
      previous: dateOf(previous),
      lastJob: job,
      created: made,
    }),
  );
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
