import { defined } from '../../../job/defined.js';
import { messageOf } from '../../../job/error-info.js';
import { MalformedScheduleError } from '../../../job/schedule-errors.js';
import type { StoredFields } from './schedule-scripts.js';
import type { ScheduleStore, Tick, TickedJob } from './schedule-store.js';
import { parseSchedule } from './read-schedule.js';
import { optionsOfTick, payloadOf, type Spec, type StoredSchedule } from './spec.js';
import { lastSlot, loadPatterns, nextSlot, type Slot } from './timing.js';

/** With `catchUp: 'skip'` a tick that is later than this is left out: it was missed, not only delayed. */
export const LATE_MS = 60_000;
/** After this time a worker tries those again that it can't compute. */
const PAUSE_MS = 1000;
/** Most jobs of a schedule that one call creates. */
const MAX_JOBS = 20;

/** A schedule whose tick this worker can't compute, and why. */
export interface BrokenSchedule {
  readonly id: string;
  readonly reason: string;
}

export interface TickedDue {
  /** Milliseconds until the next tick, or -1. */
  readonly wait: number;
  readonly jobs: readonly TickedJob[];
  /** They stay due and are tried again: another worker may be able to. */
  readonly broken: readonly BrokenSchedule[];
}

/** Creates the jobs of ticks that are due. */
export async function tickDue(
  store: Pick<ScheduleStore, 'due' | 'tick'>,
  fn: string,
  random: () => number = Math.random,
): Promise<TickedDue> {
  const [jobs, broken]: [TickedJob[], BrokenSchedule[]] = [[], []];
  let first = Infinity;
  for (;;) {
    const { now, wait, schedules } = await store.due(fn, broken.length);
    if (schedules.length > 0) await loadPatterns();
    const ticks: Tick[] = [];
    for (const stored of schedules) {
      try {
        ticks.push(tickOf(stored, now, random));
      } catch (error) {
        broken.push({ id: stored.id, reason: reasonOf(error) });
      }
    }
    const ticked = ticks.length === 0 ? undefined : await store.tick(fn, ticks);
    jobs.push(...(ticked?.jobs ?? []));
    if (broken.length === 0) return { wait: ticked?.wait ?? wait, jobs, broken };
    for (const { next } of ticks) if (next) first = Math.min(first, Math.max(0, next.time - now));
    // Those stay due, so others that are due are behind them.
    if (wait !== 0 || schedules.length === 0)
      return { wait: Math.min(first, after(wait), PAUSE_MS), jobs, broken };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof MalformedScheduleError ? error.reason : messageOf(error);
}

function after(wait: number): number {
  return wait < 0 ? Infinity : wait;
}

/** @throws an Error if the schedule is malformed, or this worker doesn't know its time zone */
function tickOf(stored: StoredFields, now: number, random: () => number): Tick {
  const { id, version, slot } = stored;
  const schedule = parseSchedule(stored);
  const { spec } = schedule;
  const { slots, next } = advance(schedule, now);
  let { previous } = schedule;
  const jobs = slots.map(({ time }) => {
    const due = spec.jitter === undefined ? time : time + Math.floor(random() * spec.jitter);
    const options = optionsOfTick(spec, defined({ id, slot: time, previous }), due);
    previous = time;
    return { slot: time, due, options };
  });
  const { unique, ifRunning, limit } = spec;
  const input = payloadOf(spec);
  return { id, version, slot, next, limit, skipsIfRunning: ifRunning === 'skip', unique, input, jobs };
}

interface Advance {
  /** The slots that become jobs. */
  readonly slots: readonly Slot[];
  readonly next: Slot | undefined;
}

/** What becomes of a schedule at a time at which it may be due. */
export function advance(
  { spec, slot, made }: Pick<StoredSchedule, 'spec' | 'slot' | 'made'>,
  now: number,
): Advance {
  if (!slot || slot.time > now) return { slots: [], next: slot };
  const { catchUp = 'last', limit = Infinity } = spec;
  const left = limit - made;
  if (left <= 0) return { slots: [], next: undefined };
  // Whether the limit is reached is decided where jobs are created: a tick may create none.
  return catchUp === 'all' ? allDue(spec, slot, now, left) : lastDue(spec, slot, now, catchUp);
}

function allDue(spec: Spec, first: Slot, now: number, left: number): Advance {
  const slots: Slot[] = [];
  let next: Slot | undefined = first;
  while (next && next.time <= now && slots.length < Math.min(left, MAX_JOBS)) {
    slots.push(next);
    next = nextSlot(spec, next.time, next.label);
  }
  return { slots, next };
}

function lastDue(spec: Spec, first: Slot, now: number, catchUp: 'skip' | 'last'): Advance {
  const last = lastSlot(spec, first, now);
  const isMissed = catchUp === 'skip' && now - last.time > LATE_MS;
  return { slots: isMissed ? [] : [last], next: nextSlot(spec, last.time, last.label) };
}
