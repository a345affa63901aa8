import { acceptSingly } from '../rows/accept-singly.js';
import type { Custody } from '../rows/accepted-rows.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { FetchedRows } from '../storage/acceptance.js';
import { isRefusedRow } from '../storage/errors.js';
import type { JobTable } from '../storage/job-table.js';

export interface Beginning {
  /** In seconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly log: JobdLog;
}

/** Accepts and begins up to so many rows of each target: together, or singly where the table refuses one of them. */
export async function beginRows(
  { acceptance, database }: JobTable,
  custody: Custody,
  rooms: ReadonlyMap<string, number>,
  { now, signal, log }: Beginning,
): Promise<readonly FetchedRows[]> {
  const begin = (some: ReadonlyMap<string, number>, only?: number) =>
    custody.accept(() => acceptance.begin(some, now, only), signal);
  try {
    return [await begin(rooms)];
  } catch (error) {
    if (!isRefusedRow(error)) throw error;
    const singly = [...rooms].map(async ([target, free]) => {
      const ids = await database.insist(() => acceptance.dueIds([target], free, now), { signal });
      return acceptSingly(ids, (id) => begin(new Map([[target, 1]]), id), log);
    });
    return (await Promise.all(singly)).flat();
  }
}
