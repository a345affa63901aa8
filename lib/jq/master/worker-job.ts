import type { HandedJob } from '../engine/turn.js';
import type { Packable } from '../message-pack/pack.js';

/** What a worker gets, pushed or pulled. The contract calls the id by both names; `attempt` and what follows are ours. */
export function workerJob(handed: HandedJob): Packable {
  const { id, name, argument, timeout, attempt, retryCount, isLast, waited } = handed;
  const job = { id, job_id: id, name, argument, timeout, attempt, retry_count: retryCount };
  const waited_ms = waited === undefined ? undefined : Math.trunc(waited);
  return { ...job, last_attempt: isLast || undefined, waited_ms };
}
