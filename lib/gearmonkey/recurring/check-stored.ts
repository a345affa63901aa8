import { MAX_SPAN_MS } from '../../job/duration.js';
import type { Spec } from './spec.js';
import { LAST_TIME } from './timing.js';

const isText = (value: unknown) => typeof value === 'string';
const isTrue = (value: unknown) => value === true;
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTime = (value: unknown) => isWithin(value, -LAST_TIME, LAST_TIME);
const isSpan = (value: unknown) => isWithin(value, 0, MAX_SPAN_MS);

/** What each field may be, as docs/understand/protocol.md says. Others are of later versions. */
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
export function malformed(spec: unknown): string | undefined {
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
