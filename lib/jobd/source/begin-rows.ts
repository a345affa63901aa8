import { acceptUnlessRefused } from '../rows/accept-unless-refused.js';
import type { AcceptedRows } from '../rows/accepted-rows.js';
import type { FetchedRows } from '../storage/acceptance.js';
import type { JobTable } from '../storage/job-table.js';
import type { JobdLog } from '../vocabulary/log.js';

export interface Beginning {
  /** In seconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly log: JobdLog;
  /** Called with the id of each row that the table refuses. */
  readonly onRefused: (id: number) => void;
}

/** Accepts and begins up to so many rows of each target: together, or singly where the table refuses one of them. */
export function beginRows(
  { acceptance, database }: JobTable,
  held: AcceptedRows,
  rooms: ReadonlyMap<string, number>,
  { now, signal, log, onRefused }: Beginning,
): Promise<readonly FetchedRows[]> {
  const begin = (some: ReadonlyMap<string, number>, only?: number) =>
    held.accept(() => acceptance.begin(some, now, only), signal);
  const due = async () => {
    const found = [...rooms].map(([target, room]) =>
      database.insist(() => acceptance.dueRows([target], room, now), { signal }),
    );
    return (await Promise.all(found)).flat();
  };
  return acceptUnlessRefused(
    {
      together: () => begin(rooms),
      rows: due,
      one: ({ id, target }) => begin(new Map([[target, 1]]), id),
      onRefused: ({ id }) => onRefused(id),
    },
    log,
  );
}
