import { scriptsIn } from '../redis/script.js';
import { LUA } from './lua.embedded.js';

const defineScript = scriptsIn(LUA);

/** Where the ids of jobs are. */
export type PlaceKind = 'list' | 'zset' | 'set';
/** Whether each job has a hash, or is a field of one. */
export type Layout = 'hashes' | 'fields';

/** A job as it was read. */
export interface ReadJob {
  readonly id: string;
  readonly score: string;
  readonly state: 'read' | 'gone' | 'broken' | 'large';
  readonly fingerprint: string;
  /** `data` and `opts`, and those that were asked for; then how many keys of children there are. */
  readonly fields: readonly (Buffer | number | null)[];
}

/** Jobs, and a set's cursor. */
export interface ReadPage {
  readonly jobs: readonly ReadJob[];
  readonly cursor: string;
}

/** Returns a page of jobs. */
export const read = defineScript<
  [
    kind: PlaceKind,
    layout: Layout,
    cursor: string | number,
    most: number,
    largest: number,
    bytes: number,
    fields: readonly string[],
  ],
  ReadPage
>('read', (reply) => {
  const [cursor, flat] = reply as [Buffer, unknown[]];
  const jobs = Array.from({ length: flat.length / 5 }, (_, index) => {
    const at = 5 * index;
    const [id, score, state, fingerprint] = (flat.slice(at, at + 4) as Buffer[]).map(String);
    return { id, score, state, fingerprint, fields: flat[at + 4] } as ReadJob;
  });
  return { jobs, cursor: String(cursor) };
});

/** The batch that a journal has. */
export interface Journal {
  readonly name: string;
  readonly number: string;
  readonly batch: string;
  /** For each job '1' if it was taken. */
  readonly taken: string;
}

/** Decodes what scripts return of a journal. */
export function readJournal(reply: unknown): Journal | undefined {
  const [name, number, batch, taken] = (reply as (Buffer | null)[]).map((part) => part?.toString());
  if (!name || !number || !batch || taken === undefined) return undefined;
  return { name, number, batch, taken };
}

/** Returns the journal's batch, which may be an earlier one; undefined if nothing was taken. */
export const take = defineScript<
  [kind: PlaceKind, layout: Layout, depth: number, name: string, batch: string, jobs: readonly string[]],
  Journal | undefined
>('take', readJournal);

/** As `take`, for a schedule. */
export const takeSchedule = defineScript<
  [name: string, batch: string, schedule: string, score: string, job: string],
  Journal | undefined
>('take-schedule', readJournal);

/** Returns whether the batch was there. */
export const finish = defineScript<
  [name: string, number: string, layout: Layout, events: number | '', ids: readonly string[]],
  boolean
>('finish', (reply) => reply === 1);

/** Returns whether the journal was deleted. */
export const close = defineScript<[name: string], boolean>('close', (reply) => reply === 1);

/** The fields of a journal, as `readJournal` takes them. */
export const JOURNAL_FIELDS = ['name', 'number', 'batch', 'taken'] as const;
