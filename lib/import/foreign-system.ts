import { isUtf8 } from 'node:buffer';
import { backoffOf, numberOf, objectOf, timeOf, type FoundJob, type LeftReason } from './found-job.js';
import type { Layout, PlaceKind, ReadJob } from './import-scripts.js';

/** What a job waits for. */
export type ForeignState = 'waiting' | 'paused' | 'prioritized' | 'delayed' | 'failed';

/** Where jobs of a state are. */
export interface Place {
  readonly state: ForeignState;
  /** The rest of the key. */
  readonly key: string;
  readonly kind: PlaceKind;
}

export type SystemName = 'bullmq' | 'bull' | 'bee-queue';

/** How another system keeps its jobs. Keys begin with "PREFIX:QUEUE:". */
export interface ForeignSystem {
  readonly name: SystemName;
  readonly prefix: string;
  readonly layout: Layout;
  /** The rest of the key of all jobs, '' if each has its own. */
  readonly jobs: string;
  /** Fields of a job's hash beside `data` and `opts`. */
  readonly fields: readonly string[];
  readonly places: readonly Place[];
  /** Jobs that are never taken. */
  readonly left: readonly { readonly reason: LeftReason; readonly key: string; readonly kind: PlaceKind }[];
  /** Whether jobs with priorities come before the others. */
  readonly prioritiesFirst: boolean;
  readonly hasSchedules: boolean;
  readonly hasEvents: boolean;
  toFound(job: ReadJob, state: ForeignState): FoundJob | LeftReason;
}

const FIELDS = ['name', 'timestamp', 'priority', 'attemptsMade', 'atm', 'rjk', 'deid', 'parentKey'] as const;

/** The low bits of a delayed job's score count jobs of one millisecond. */
const SCORES_A_MS = 0x1000;

const bullmq: ForeignSystem = {
  name: 'bullmq',
  prefix: 'bull',
  layout: 'hashes',
  jobs: '',
  fields: FIELDS,
  places: [
    { state: 'paused', key: 'paused', kind: 'list' },
    { state: 'waiting', key: 'wait', kind: 'list' },
    { state: 'prioritized', key: 'prioritized', kind: 'zset' },
    { state: 'delayed', key: 'delayed', kind: 'zset' },
    { state: 'failed', key: 'failed', kind: 'zset' },
  ],
  left: [
    { reason: 'active', key: 'active', kind: 'list' },
    { reason: 'waiting-children', key: 'waiting-children', kind: 'zset' },
  ],
  prioritiesFirst: false,
  hasSchedules: true,
  hasEvents: true,
  toFound: hashToFound,
};

/** Its jobs with priorities are in the lists, in their order. */
const bull: ForeignSystem = {
  ...bullmq,
  name: 'bull',
  places: bullmq.places.filter(({ state }) => state !== 'prioritized'),
  left: bullmq.left.slice(0, 1),
  prioritiesFirst: true,
  hasEvents: false,
};

const beeQueue: ForeignSystem = {
  name: 'bee-queue',
  prefix: 'bq',
  layout: 'fields',
  jobs: 'jobs',
  fields: [],
  places: [
    { state: 'waiting', key: 'waiting', kind: 'list' },
    { state: 'delayed', key: 'delayed', kind: 'zset' },
    { state: 'failed', key: 'failed', kind: 'set' },
  ],
  left: [{ reason: 'active', key: 'active', kind: 'list' }],
  prioritiesFirst: false,
  hasSchedules: false,
  hasEvents: false,
  toFound: fieldToFound,
};

/** The systems that jobs come from. */
export const SYSTEMS: Readonly<Record<SystemName, ForeignSystem>> = { bullmq, bull, 'bee-queue': beeQueue };

/** From when a delayed job may run, in ms since 1970. */
export function dueOf(score: string): number {
  return Math.floor(Number(score) / SCORES_A_MS);
}

/** Why a job that was not read stays. */
function unread(state: Exclude<ReadJob['state'], 'read'>): LeftReason {
  return state === 'large' ? 'too-large' : state;
}

/** Bytes that are not UTF-8 become this character, and another id. */
function isReadable(id: string): boolean {
  return !id.includes('\uFFFD');
}

function hashToFound(job: ReadJob, state: ForeignState): FoundJob | LeftReason {
  if (job.state !== 'read') return unread(job.state);
  if (!isReadable(job.id)) return 'broken';
  const fields = job.fields.slice(0, -1) as (Buffer | null)[];
  if (fields.some((field) => field && !isUtf8(field))) return 'broken';
  const [data, opts, name, timestamp, priority, attemptsMade, atm, rjk, deid, parentKey] = fields.map(
    (field) => field?.toString() ?? undefined,
  );
  const options = objectOf(opts || '{}');
  if (data === undefined || !options) return 'broken';
  if (parentKey || Number(job.fields.at(-1)) > 0) return 'flow';
  const { attempts, backoff, timeout, repeat } = options;
  const made = state === 'failed' ? 0 : numberOf(atm ?? attemptsMade);
  return {
    ...{ id: job.id, data, name: name === '__default__' ? undefined : name, timestamp: timeOf(timestamp) },
    retry: { attempts: Math.floor(numberOf(attempts)), made, backoff: backoffOf(backoff) },
    priority: numberOf(priority),
    due: state === 'delayed' ? dueOf(job.score) : undefined,
    unique: uniqueOf(job.id, deid, options),
    timeout: numberOf(timeout) || undefined,
    schedule: rjk ?? (repeat as { key?: string } | undefined)?.key,
  };
}

/** An id of deduplication stands for a job until it has ended, unless it has a time; so does an id that the app chose. */
function uniqueOf(
  id: string,
  deid: string | undefined,
  options: Record<string, unknown>,
): string | undefined {
  const { ttl } = (options['de'] ?? options['debounce'] ?? options['deduplication'] ?? {}) as {
    ttl?: unknown;
  };
  if (deid !== undefined) return numberOf(ttl) > 0 ? undefined : deid;
  return /^\d+$|^repeat:/.test(id) ? undefined : id;
}

function fieldToFound(job: ReadJob, state: ForeignState): FoundJob | LeftReason {
  if (job.state !== 'read') return unread(job.state);
  if (!isReadable(job.id)) return 'broken';
  const [bytes] = job.fields as Buffer[];
  const stored = bytes && isUtf8(bytes) ? objectOf(bytes.toString()) : undefined;
  const options = stored?.['options'] ?? {};
  if (!stored || stored['data'] === undefined || typeof options !== 'object') return 'broken';
  const { retries, backoff, timeout, timestamp } = options as Record<string, unknown>;
  return {
    ...{ id: job.id, data: JSON.stringify(stored['data']), timestamp: timeOf(timestamp) },
    // It counts down the retries, and doubles the wait, in the job itself.
    retry: { attempts: Math.floor(numberOf(retries)) + 1, made: 0, backoff: backoffOf(backoff) },
    priority: 0,
    due: state === 'delayed' ? Math.floor(Number(job.score)) : undefined,
    unique: /^\d+$/.test(job.id) ? undefined : job.id,
    timeout: numberOf(timeout) || undefined,
  };
}
