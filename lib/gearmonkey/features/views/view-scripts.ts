import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { Now } from '../../core/wire/scripts.js';
import type { StoredJob } from '../../core/wire/stored-job.js';

const defineScript = scriptsIn(LUA);

/** Returns whether more is left to remove. `rules` are four for each function: milliseconds, and numbers of jobs or ''. */
export const trim = defineScript<[now: Now, most: number, rules: readonly (number | '')[]], boolean>(
  'trim',
  (reply) => reply === 1,
);

/** Returns the numbers of a function, in the order of the script; '' for one that is not known. */
export const overview = defineScript<[now: Now, keptMs: number], string[]>('overview', (reply) =>
  (reply as Buffer[]).map(String),
);

/** The kinds of lists that `listJobs` reads. */
export type ListKind = 'waiting' | 'scheduled' | 'retrying' | 'running' | 'ended';

interface Page {
  readonly total: number;
  readonly next: string;
  readonly jobs: { readonly id: string; readonly stored: StoredJob }[];
}

export const listJobs = defineScript<
  [
    now: Now,
    keptMs: number,
    kind: ListKind,
    order: 'newest' | 'oldest',
    size: number,
    page: string,
    payloads: 0 | 1,
    status: string,
  ],
  Page
>('list-jobs', toPage);

/** What jobs are found by. */
export type FoundBy = 'tag' | 'key' | 'id';

/** Each job also has the field `state`. */
export const findJobs = defineScript<
  [
    now: Now,
    by: FoundBy,
    text: string,
    order: 'newest' | 'oldest',
    size: number,
    page: string,
    payloads: 0 | 1,
  ],
  Page
>('find-jobs', toPage);

function toPage(reply: unknown): Page {
  const [total, next, ...flat] = reply as [number, Buffer, ...(Buffer | Buffer[])[]];
  const jobs = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [id, fields] = [flat[i], flat[i + 1]] as [Buffer, Buffer[]];
    jobs.push({ id: id.toString(), stored: toStoredJob(fields) });
  }
  return { total, next: String(next), jobs };
}

function toStoredJob(fields: readonly Buffer[]): StoredJob {
  const stored = new Map<string, Uint8Array>();
  for (let i = 0; i + 1 < fields.length; i += 2) stored.set(String(fields[i]), fields[i + 1] as Buffer);
  return stored;
}

/** Returns how many jobs were put back into their queues, or deleted; `jobs` are ids and times. */
export const mend = defineScript<
  [now: Now, verb: 'retry' | 'discard', name: string, jobs: readonly string[]],
  number
>('mend', Number);

/** A job without its payloads: what is left of long fields, and the lengths of all. */
export interface DescribedJob {
  readonly stored: StoredJob;
  /** In bytes, by the names of fields. */
  readonly lengths: ReadonlyMap<string, number>;
}

export const readJob = defineScript<[id: string, most: number], DescribedJob | undefined>(
  'read-job',
  (reply) => {
    const parts = reply as (Buffer | number)[];
    if (parts.length === 0) return undefined;
    const [stored, lengths] = [new Map<string, Uint8Array>(), new Map<string, number>()];
    for (let at = 0; at + 2 < parts.length; at += 3) {
      const [name, length, value] = [String(parts[at]), Number(parts[at + 1]), parts[at + 2] as Buffer];
      lengths.set(name, length);
      if (value.length > 0 || length === 0) stored.set(name, value);
    }
    return { stored, lengths };
  },
);

/** The beginning of an input or output. */
export interface PayloadPart {
  /** Of the job, as it is stored. */
  readonly status: string;
  /** The whole length. */
  readonly length: number;
  readonly bytes: Buffer;
}

export const readPayload = defineScript<
  [id: string, field: 'input' | 'output', most: number],
  PayloadPart | undefined
>('read-payload', (reply) => {
  const [status, length, bytes] = reply as [Buffer?, number?, Buffer?];
  return bytes && { status: String(status), length: Number(length), bytes };
});
