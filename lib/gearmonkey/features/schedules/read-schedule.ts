import { defined } from '../../../job/defined.js';
import { MalformedScheduleError } from '../../../job/schedule-errors.js';
import type { StoredFields } from './schedule-scripts.js';
import type { Spec, StoredSchedule } from './spec.js';
import { LAST_TIME } from './timing.js';
import { MAX_SPAN_MS } from '../../../job/duration.js';

/** Reads a schedule. @throws MalformedScheduleError if another program has written something else in its place */
export function parseSchedule(stored: StoredFields): StoredSchedule {
  const { id, version, slot, time, previous, made, job } = stored;
  const next = numberOf(time);
  if (time !== '' && next === undefined) throw new MalformedScheduleError(id, 'its next time is no time');
  return defined({
    id,
    spec: parse(stored),
    version,
    slot: next === undefined ? undefined : { time: next, label: slot },
    previous: numberOf(previous),
    made: Math.max(0, numberOf(made) ?? 0),
    job: /^\d+/.exec(job)?.[0],
  });
}

/** As `parseSchedule`; undefined if it is malformed. */
export function readSchedule(stored: StoredFields): StoredSchedule | undefined {
  try {
    return parseSchedule(stored);
  } catch {
    return undefined;
  }
}

function parse({ id, spec }: StoredFields): Spec {
  const parsed = jsonOf(spec);
  const problem = malformed(parsed);
  if (problem !== undefined) throw new MalformedScheduleError(id, problem);
  return parsed as Spec;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A number that a time can be; undefined for other text. */
function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text !== '' && Math.abs(value) <= LAST_TIME ? value : undefined;
}

const isText = (value: unknown) => typeof value === 'string';

const isTrue = (value: unknown) => value === true;

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

const isTime = (value: unknown) => isWithin(value, -LAST_TIME, LAST_TIME);

const isSpan = (value: unknown) => isWithin(value, 0, MAX_SPAN_MS);

/** What each field may be, as docs/understand/protocol/schedules.md says. Others are of later versions. */
const FIELDS: Readonly<Record<keyof Spec, (value: unknown) => boolean>> = {
  cron: isText,
  seconds: (value) => typeof value === 'boolean',
  timezone: isText,
  every: (value) => isWithin(value, 1000, MAX_SPAN_MS),
  anchor: isTime,
  from: isTime,
  until: isTime,
  input: isText,
  base64: isTrue,
  limit: (value) => Number.isSafeInteger(value) && (value as number) > 0,
  catchUp: (value) => value === 'skip' || value === 'last' || value === 'all',
  jitter: isSpan,
  ifRunning: (value) => value === 'skip',
  expires: isSpan,
  options: isObject,
  unique: isUnique,
  paused: isTrue,
  app: isApp,
};

/** What keeps a value that a program has stored from being a schedule; undefined if nothing does. */
function malformed(spec: unknown): string | undefined {
  if (!isObject(spec)) return 'it is malformed: no JSON object';
  const given = spec as Partial<Record<keyof Spec, unknown>>;
  for (const [name, isRight] of Object.entries(FIELDS) as [keyof Spec, (value: unknown) => boolean][])
    if (given[name] !== undefined && !isRight(given[name])) return `its \`${name}\` is malformed`;
  if ((given.cron === undefined) === (given.every === undefined))
    return 'it is malformed: neither `cron` nor `every`, or both';
  return given.input === undefined ? 'it is malformed: no `input`' : undefined;
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

function isUnique(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { key, kind, span } = value as Record<string, unknown>;
  if (typeof key !== 'string') return false;
  return kind === 'throttle' ? isSpan(span) : kind === 'unfinished' || kind === 'waiting';
}

function isApp(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { name, version } = value as Record<string, unknown>;
  return typeof name === 'string' && typeof version === 'string';
}
