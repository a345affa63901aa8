import { readJobOptions } from '../gearmonkey/core/wire/job-options.js';
import type { Examination } from './examination.js';
import type { ExaminedFunction } from './function-names.js';

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
