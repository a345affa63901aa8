import { withDeadline } from '../../job/deadline.js';
import type { FetchedManual, ManualRules } from '../storage/acceptance.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import { DatabaseError } from '../storage/errors.js';
import type { JobTable } from '../storage/job-table.js';
import { nowInSeconds } from '../storage/row-writer.js';
import type { Custody } from './accepted-rows.js';

export interface ManualAcceptance {
  readonly rules: ManualRules;
  /** Milliseconds a client waits for a database that is away. */
  readonly patience: number;
  /** Given what was accepted when nobody waited for it any more. */
  readonly onUnwanted: (accepted: Promise<readonly AcceptedJob[]>) => void;
}

/** Accepts manual rows within their client's patience. @throws DatabaseError */
export async function acceptManual(
  table: JobTable,
  custody: Custody,
  ids: readonly number[],
  { rules, patience, onUnwanted }: ManualAcceptance,
): Promise<FetchedManual> {
  const ending = new AbortController();
  const fetch = () => table.acceptance.manual(ids, rules, nowInSeconds());
  const fetching = custody.accept(fetch, ending.signal);
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
