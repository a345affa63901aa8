import { codecOf, type Codec, type CodecName } from '../job/codec.js';
import { defined } from '../job/defined.js';
import { MAX_TIMER_MS } from '../job/duration.js';
import { checkHeaders, IMPORT_HEADERS, type JobHeaders } from '../job/headers.js';
import { MAX_ATTEMPTS, type JobRetryOptions } from '../job/retry.js';
import type { Queue } from '../gearmonkey/core/wire/protocol.js';

/** How a job of another system is tried again. */
export interface FoundRetry {
  /** In all, with those that were made. */
  readonly attempts: number;
  readonly made: number;
  readonly backoff?: { readonly type: string; readonly delay: number; readonly jitter: number } | undefined;
}

/** A job of another system, in terms that all of them have. */
export interface FoundJob {
  readonly id: string;
  readonly name?: string | undefined;
  /** JSON. */
  readonly data: string;
  /** When it was added, in ms since 1970. */
  readonly timestamp?: number | undefined;
  readonly retry: FoundRetry;
  /** 0 for none; 1 comes before 2. */
  readonly priority: number;
  /** From when it may run, in ms since 1970. */
  readonly due?: number | undefined;
  /** There is to be one job with it at a time. */
  readonly unique?: string | undefined;
  /** How long a run may take, in ms. */
  readonly timeout?: number | undefined;
  /** The schedule that it comes from. */
  readonly schedule?: string | undefined;
}

/** Why a job stays where it is. */
export type LeftReason =
  | 'active'
  | 'waiting-children'
  | 'flow'
  | 'broken'
  | 'gone'
  | 'too-large'
  | 'unfit'
  | 'unmapped'
  | 'schedule'
  | 'schedule-here'
  | 'next-of-schedule'
  | 'later'
  | 'failed';

/** A job as it is to be created, and as the journal has it. */
export interface PlannedJob {
  readonly id: string;
  readonly fn: string;
  readonly queue: Queue;
  /** In ms since 1970, for `scheduled`. */
  readonly due?: number;
  readonly input: string;
  /** Whether `input` is base64. */
  readonly base64?: true;
  /** As JSON, or ''. */
  readonly options: string;
  /** The unique key. */
  readonly key?: string;
}

/** What becomes of jobs. */
export interface Rules {
  /** The function of jobs with this name; undefined if they have none. */
  readonly functionOf: (name: string | undefined) => string | undefined;
  readonly codec?: CodecName | undefined;
  /** Most bytes of an input. */
  readonly largest: number;
  /** The lowest priority, by its number, that goes to `high`; 0 for none. */
  readonly high: number;
  /** The same for `normal`. */
  readonly normal: number;
}

const MAX_KEY_BYTES = 255;
const MAX_TIME = 8.64e15;

/** The job that takes its place, or why it stays. */
export function planJob(found: FoundJob, rules: Rules): PlannedJob | LeftReason {
  const fn = rules.functionOf(found.name);
  if (fn === undefined) return 'unmapped';
  const input = inputOf(found.data, codecOf(rules.codec));
  if (typeof input === 'string') return input;
  if (input.bytes > rules.largest) return 'too-large';
  const options = optionsOf(found);
  if (options === undefined) return 'too-large';
  const { due, unique } = found;
  if (due !== undefined && !(due >= 0 && due <= MAX_TIME)) return 'broken';
  const queue = due === undefined ? queueOf(found.priority, rules) : 'scheduled';
  const key = unique !== undefined && isKey(unique) ? unique : undefined;
  return defined({ id: found.id, fn, queue, due, ...input.stored, options, key });
}

interface Input {
  readonly stored: Pick<PlannedJob, 'input' | 'base64'>;
  readonly bytes: number;
}

/** JSON stays as it is: numbers may have more digits than JavaScript keeps. */
function inputOf(data: string, codec: Codec): Input | LeftReason {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return 'broken';
  }
  try {
    const payload = codec.name === 'json' ? data : codec.encode(value);
    if (typeof payload === 'string') return { stored: { input: payload }, bytes: Buffer.byteLength(payload) };
    return {
      stored: { input: Buffer.from(payload).toString('base64'), base64: true },
      bytes: payload.byteLength,
    };
  } catch {
    return 'unfit';
  }
}

function queueOf(priority: number, { high, normal }: Rules): Queue {
  if (priority === 0) return 'normal';
  if (priority <= high) return 'high';
  return priority <= normal ? 'normal' : 'low';
}

function isKey(unique: string): boolean {
  return unique !== '' && unique.isWellFormed() && Buffer.byteLength(unique) <= MAX_KEY_BYTES;
}

/** Options as JSON; undefined if the headers that say where it comes from are too large. */
function optionsOf(found: FoundJob): string | undefined {
  const headers = headersOf(found);
  if (headers === undefined) return undefined;
  const { timeout } = found;
  return JSON.stringify(
    defined({
      retry: retryOf(found.retry),
      timeout:
        timeout !== undefined && timeout > 0 && timeout <= MAX_TIMER_MS ? Math.ceil(timeout) : undefined,
      headers,
    }),
  );
}

/** Where a job comes from. */
export function headersOf({
  id,
  name,
  timestamp,
}: Pick<FoundJob, 'id' | 'name' | 'timestamp'>): JobHeaders | undefined {
  try {
    return checkHeaders({
      [IMPORT_HEADERS.id]: id,
      [IMPORT_HEADERS.name]: name,
      [IMPORT_HEADERS.timestamp]: timestamp === undefined ? undefined : String(timestamp),
    });
  } catch {
    return undefined;
  }
}

/** Options for the attempts that are left; undefined if it had one, so that those of the function apply. */
export function retryOf({ attempts, made, backoff }: FoundRetry): JobRetryOptions | undefined {
  if (attempts <= 1) return undefined;
  const left = Math.min(Math.max(1, attempts - made), MAX_ATTEMPTS);
  const span = (ms: number) => Math.min(Math.max(1, Math.ceil(ms)), MAX_TIMER_MS);
  if (!backoff || backoff.type === 'immediate')
    return { attempts: left, backoff: 'fixed', delay: 1, jitter: 0 };
  const { type, delay, jitter } = backoff;
  // A strategy of the app's own has no counterpart: the waits are those of a function without options.
  if (type !== 'fixed' && type !== 'exponential') return { attempts: left };
  const next = span(type === 'fixed' ? delay : delay * 2 ** made);
  return { attempts: left, backoff: type, delay: next, max: MAX_TIMER_MS, jitter };
}

/** A number that was written as text or as a number; 0 if it is none, or negative. */
export function numberOf(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(String(value ?? ''));
  return Number.isFinite(number) && number > 0 ? number : 0;
}

/** A time in ms since 1970, or undefined. */
export function timeOf(value: unknown): number | undefined {
  const time = Math.floor(numberOf(value));
  return time > 0 && time <= MAX_TIME ? time : undefined;
}

/** An object from JSON; undefined for anything else. */
export function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** `{ type, delay, jitter }`, or a number of ms. */
export function backoffOf(value: unknown): FoundRetry['backoff'] {
  if (typeof value === 'number') return { type: 'fixed', delay: numberOf(value), jitter: 0 };
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, strategy, delay, jitter } = value as Record<string, unknown>;
  return { type: String(type ?? strategy), delay: numberOf(delay), jitter: Math.min(1, numberOf(jitter)) };
}
