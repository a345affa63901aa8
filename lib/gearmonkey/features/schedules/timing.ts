import type { Cron } from 'croner';
import { localTimeOf } from './local-time.js';

/** When a schedule is due. Times are in milliseconds since 1970. */
export interface Timing {
  /** A cron pattern; otherwise there is `every`. */
  readonly cron?: string;
  /** Whether the pattern has a field for seconds. */
  readonly seconds?: boolean;
  /** Of the pattern. */
  readonly timezone?: string;
  /** Milliseconds between two slots. */
  readonly every?: number;
  /** The time from which `every` counts. */
  readonly anchor?: number;
  /** No slot before it. */
  readonly from?: number;
  /** No slot after it. */
  readonly until?: number;
}

/** A time at which a schedule is due. */
export interface Slot {
  readonly time: number;
  /**
   * Identifies it within a schedule: the time that the pattern names, by the clock of its time zone. Programs that
   * resolve a time which daylight saving skips or repeats in different ways still get the same slot.
   */
  readonly label: string;
}

/** The first slot after a time. With `past`, the label of the slot at that time, it is another one. */
export function nextSlot(timing: Timing, after: number, past = ''): Slot | undefined {
  const { from = -Infinity, until = Infinity } = timing;
  const start = Math.max(after, from - 1);
  const slot = timing.cron === undefined ? nextStep(timing, start) : nextMatch(timing, start, past);
  return slot && slot.time <= until ? slot : undefined;
}

/** Slots are whole seconds. */
const SECOND_MS = 1000;

/** The last slot that is due by `now`, from `first` on, which is due. */
export function lastSlot(timing: Timing, first: Slot, now: number): Slot {
  let [last, span] = [first, 60_000];
  let [before, after] = [first.time, now];
  // Looks back further and further until there is a slot, then halves the span in which the last one is.
  for (; now - span > before; span *= 4) {
    const slot = dueSlot(timing, now - span, now);
    if (!slot) {
      after = now - span;
      continue;
    }
    [last, before] = [slot, slot.time];
    break;
  }
  while (after - before > SECOND_MS) {
    const middle = before + Math.floor((after - before) / 2);
    const slot = dueSlot(timing, middle, now);
    if (slot) [last, before] = [slot, slot.time];
    else after = middle;
  }
  const next = nextSlot(timing, last.time, last.label);
  return next && next.time <= now ? next : last;
}

function dueSlot(timing: Timing, after: number, now: number): Slot | undefined {
  const slot = nextSlot(timing, after);
  return slot && slot.time <= now ? slot : undefined;
}

function nextStep({ every = 0, anchor = 0, from }: Timing, after: number): Slot | undefined {
  const first = from === undefined ? 1 : 0;
  const time = anchor + Math.max(first, Math.floor((after - anchor) / every) + 1) * every;
  return time <= LAST_TIME ? { time, label: new Date(time).toISOString() } : undefined;
}

function nextMatch(timing: Timing, after: number, past: string): Slot | undefined {
  const pattern = patternOf(timing);
  let time = pattern.nextAfter(after);
  for (let skipped = 0; time !== undefined; skipped += 1) {
    const label = pattern.labelOf(time);
    // Two versions of a library may put one slot at two times. A label far ahead is none that a library made.
    const isNext = pattern.isFixed ? label > past : label !== past;
    if (isNext || skipped === MAX_SKIPPED) return { time, label };
    time = pattern.nextAfter(time);
  }
  return undefined;
}

/** The last time that a Date can have. */
export const LAST_TIME = 8.64e15;
const MAX_SKIPPED = 3;

/** Of the pattern's library, which would not tell what they stand for. */
const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

let loaded: typeof Cron | undefined;

/** Loads what parses patterns: an app without schedules never does. To be awaited before anything else of this file is used. */
export async function loadPatterns(): Promise<void> {
  loaded ??= (await import('croner')).Cron;
}

function parse(pattern: string, timezone: string, mode: '5-part' | '6-part'): Cron {
  if (!loaded) throw new Error('loadPatterns() was not awaited.');
  return new loaded(pattern, { timezone, mode });
}

/** A parsed pattern. */
class Pattern {
  readonly zoned: Cron;
  /** The same without a time zone: matches times by the clock on the wall. */
  private readonly wall: Cron;
  /** Whether it names one time of a day. Such a pattern never has the same local time twice. */
  readonly isFixed: boolean;

  constructor(
    given: string,
    private readonly timezone: string,
    seconds: boolean,
  ) {
    const mode = seconds ? '6-part' : '5-part';
    const pattern = NICKNAMES[given.toLowerCase()] ?? given;
    this.zoned = parse(pattern, timezone, mode);
    this.wall = parse(pattern, 'UTC', mode);
    const fields = pattern.trim().split(/\s+/);
    this.isFixed =
      fields.length > 1 && fields.slice(0, seconds ? 3 : 2).every((field) => /^\d+$/.test(field));
  }

  nextAfter(time: number): number | undefined {
    return this.zoned.nextRun(new Date(time))?.getTime();
  }

  labelOf(time: number): string {
    const { wall, offset } = localTimeOf(time, this.timezone);
    if (!this.isFixed) return `${textOf(wall)}${offset}`;
    if (this.wall.match(new Date(wall))) return textOf(wall);
    // Daylight saving skips the time that the pattern names.
    const [named] = this.wall.previousRuns(1, new Date(wall));
    return textOf(named?.getTime() ?? wall);
  }
}

function textOf(wall: number): string {
  return new Date(wall).toISOString().slice(0, 19);
}

/** Longer than any pattern that a person writes; a hostile one could take long to read. */
export const MAX_PATTERN = 250;
const MAX_KNOWN = 1000;
const known = new Map<string, Pattern>();

/** @throws an Error that says what is wrong with the pattern */
export function patternOf({ cron = '', timezone = 'UTC', seconds = false }: Timing): Pattern {
  const key = JSON.stringify([cron, timezone, seconds]);
  let pattern = known.get(key);
  if (!pattern) {
    if (cron.length > MAX_PATTERN) throw new Error(`its pattern has more than ${MAX_PATTERN} characters`);
    pattern = new Pattern(cron, timezone, seconds);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, pattern);
  }
  return pattern;
}
