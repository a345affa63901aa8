import type { HandedJob } from '../engine/turn.js';
import type { Packable } from '../message-pack/pack.js';

/** What a worker gets, pushed or pulled. The contract calls the id by both names; `attempt`, `retry_count` and `last_attempt` are ours. */
export function workerJob({ id, name, argument, timeout, attempt, retryCount, isLast }: HandedJob): Packable {
  const job = { id, job_id: id, name, argument, timeout, attempt, retry_count: retryCount };
  return isLast ? { ...job, last_attempt: true } : job;
}
