import { withDeadline } from '../../job/clock.js';
import type { FetchedManual, ManualRules } from '../storage/acceptance.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import { DatabaseError } from '../storage/errors.js';
import type { JobTable } from '../storage/job-table.js';
import { nowInSeconds } from '../storage/row-writer.js';
import type { AcceptedRows } from './accepted-rows.js';

/** Slots reserved for the manual rows of one request until it is known which of them begin. */
export interface ManualPlaces extends ManualRules {
  /** Frees all slots except those of `begun`, which keep theirs. */
  settle(begun: readonly Pick<AcceptedJob, 'id' | 'target'>[]): void;
}

export interface ManualAcceptance {
  readonly rules: ManualRules;
  /** Milliseconds that a client waits during an outage of the database. */
  readonly patience: number;
  /** Called with rows that were accepted when their clients no longer waited. */
  readonly onUnwanted: (accepted: Promise<readonly AcceptedJob[]>) => void;
}

/** Accepts manual rows, unless that takes longer than their client waits. @throws DatabaseError */
export async function acceptManual(
  table: JobTable,
  held: AcceptedRows,
  ids: readonly number[],
  { rules, patience, onUnwanted }: ManualAcceptance,
): Promise<FetchedManual> {
  const ending = new AbortController();
  const fetch = () => table.acceptance.manual(ids, rules, nowInSeconds());
  const fetching = held.accept(fetch, ending.signal);
  const late = () => new DatabaseError('The jobs were not fetched', `no answer within ${patience} ms`);
  try {
    return await withDeadline(fetching, patience, late);
  } catch (error) {
    ending.abort();
    onUnwanted(
      fetching.then(
        ({ accepted }) => accepted,
        () => [],
      ),
    );
    throw error;
  }
}
