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

/** The last slot that is due by `now`, from `first` on, which is due. */
export function lastSlot(timing: Timing, first: Slot, now: number): Slot {
  let [last, span] = [first, 60_000];
  // Looks back further and further until there is a slot, so that few have to be visited.
  for (; now - span > first.time; span *= 4) {
    const slot = nextSlot(timing, now - span);
    if (!slot || slot.time > now) continue;
    last = slot;
    break;
  }
  for (;;) {
    const next = nextSlot(timing, last.time, last.label);
    if (!next || next.time > now) return last;
    last = next;
  }
}

function nextStep({ every = 0, anchor = 0, from }: Timing, after: number): Slot {
  const first = from === undefined ? 1 : 0;
  const time = anchor + Math.max(first, Math.floor((after - anchor) / every) + 1) * every;
  return { time, label: new Date(time).toISOString() };
}

function nextMatch(timing: Timing, after: number, past: string): Slot | undefined {
  const pattern = patternOf(timing);
  let time = pattern.zoned.nextRun(new Date(after))?.getTime();
  while (time !== undefined) {
    const label = pattern.labelOf(time);
    // Two versions of a library may put one slot at two times.
    if (pattern.isFixed ? label > past : label !== past) return { time, label };
    time = pattern.zoned.nextRun(new Date(time))?.getTime();
  }
  return undefined;
}

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

const MAX_KNOWN = 1000;
const known = new Map<string, Pattern>();

/** @throws an Error that says what is wrong with the pattern */
export function patternOf({ cron = '', timezone = 'UTC', seconds = false }: Timing): Pattern {
  const key = JSON.stringify([cron, timezone, seconds]);
  let pattern = known.get(key);
  if (!pattern) {
    pattern = new Pattern(cron, timezone, seconds);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, pattern);
  }
  return pattern;
}
