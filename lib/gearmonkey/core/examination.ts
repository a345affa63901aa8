import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../../job/errors.js';
import { isReply, isTransientReply } from '../../redis/redis-errors.js';
import { readJobOptions } from './wire/job-options.js';
import type { FunctionKeys } from './wire/protocol.js';

/** A function and its keys. */
export interface ExaminedFunction {
  readonly fn: string;
  readonly keys: FunctionKeys;
}

/** `error`: jobs are lost, stuck or refused. `warning`: they may be. */
export type Severity = 'error' | 'warning';

/** Something that is wrong, and what to do. */
export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  /** What is wrong, with its numbers. */
  readonly title: string;
  readonly remedy: string;
  /** The function that it concerns. */
  readonly fn?: string;
  /** A safe repair. */
  readonly fix?: Fix;
}

/** A repair that loses nothing, whatever happens meanwhile. */
export interface Fix {
  readonly does: string;
  apply(): Promise<unknown>;
}

/** What could not be looked at, and why. */
export interface Skipped {
  readonly what: string;
  readonly why: string;
}

/** A connection to examine, and what could not be read on it. */
export class Examination {
  readonly #skipped = new Map<string, string>();

  constructor(readonly redis: Redis | Cluster) {}

  get skipped(): Skipped[] {
    return [...this.#skipped].map(([what, why]) => ({ what, why }));
  }

  skip(what: string, why: string): void {
    if (!this.#skipped.has(what)) this.#skipped.set(what, why);
  }

  /** Asks; if the server refuses, records that and returns undefined. @throws ConnectionError and the like */
  async look<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (!isReply(error) || isTransientReply(error)) throw error;
      this.skip(what, messageOf(error));
      return undefined;
    }
  }
}

/** A finding that may only be a moment of a busy system: it counts if it is there at a second look. */
export interface Suspicion {
  readonly code: string;
  /** What it concerns, such as ids. One without ids concerns the function. */
  readonly ids: readonly string[];
  /** The finding, of those ids that were found twice. */
  finding(ids: readonly string[]): Finding;
}

/** The findings of suspicions that two looks have in common. */
export function confirmed(first: readonly Suspicion[], second: readonly Suspicion[]): Finding[] {
  return second.flatMap((suspicion) => {
    const before = first.find(({ code }) => code === suspicion.code);
    if (!before) return [];
    const ids = suspicion.ids.filter((id) => before.ids.includes(id));
    return suspicion.ids.length > 0 && ids.length === 0 ? [] : [suspicion.finding(ids)];
  });
}

/** A suspicion without ids. */
export function plainly(finding: Finding): Suspicion {
  return { code: finding.code, ids: [], finding: () => finding };
}

/** How many jobs, and how many entries at each end of a list, are compared. */
export const SAMPLE = 100;
/** A plain client writes a job before it queues it, and others may be about to change one. */
const SETTLED_MS = 60_000;

/** A job that has been there for a while. */
export interface SampledJob {
  readonly id: string;
  readonly status: string;
  readonly token: string;
  /** That it is limited by. */
  readonly key: string | undefined;
  /** When a script of this package ended it, in ms since 1970. */
  readonly finished: number | undefined;
  /** A plain worker may have it: its last claim was lost. */
  readonly isLost: boolean;
  readonly tags: readonly string[];
}

/** The latest jobs, and some from all over the rest. */
export async function sampleJobs(
  { redis }: Examination,
  { keys }: ExaminedFunction,
  now: number,
): Promise<SampledJob[]> {
  const last = Number(await redis.get(keys.ids)) || 0;
  const step = Math.max(1, Math.floor(last / SAMPLE));
  const ids = new Set<number>();
  for (let id = last; id > 0 && id > last - SAMPLE; id--) ids.add(id);
  for (let id = last; id > 0; id -= step) ids.add(id);
  const fields = ['status', 'token', 'lost', 'created', 'key', 'finished', 'options'] as const;
  const read = [...ids].map(async (id): Promise<SampledJob[]> => {
    const values = await redis.hmget(`${keys.jobs}${id}`, ...fields);
    const [status, token, lost, created, key, finished, options] = values;
    // Without a time it is not known how old a job is.
    if (!created || Math.max(Number(created), Number(finished ?? 0)) > now - SETTLED_MS) return [];
    return [
      {
        id: String(id),
        status: status ?? '',
        token: token ?? '',
        key: key ?? undefined,
        finished: typeof finished === 'string' ? Number(finished) : undefined,
        isLost: Boolean(token) && token === lost,
        tags: readJobOptions(options ?? '').tags ?? [],
      },
    ];
  });
  return (await Promise.all(read)).flat();
}

const SHOWN_IDS = 5;

/** The first of them, and how many more. */
export function listOf(ids: readonly string[]): string {
  const more = ids.length > SHOWN_IDS ? ` and ${ids.length - SHOWN_IDS} more` : '';
  return ids.slice(0, SHOWN_IDS).join(', ') + more;
}

/** What a feature's check may ask of a function: undefined is what could not be read. */
export interface Examined extends ExaminedFunction {
  /** The server's time, in ms since 1970. */
  readonly now: number;
  /** How many of its workers have presence. */
  readonly alive: number | undefined;
  readonly paused: boolean;
  readonly jobs: readonly SampledJob[];
}

/** A feature's part of the doctor. */
export interface FeatureCheck {
  /** What is not known if the server refuses, such as `limits`. */
  readonly of: string;
  check(examination: Examination, examined: Examined): Promise<Suspicion[]>;
}
