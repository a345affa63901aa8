import type { HandedJob } from '../engine/turn.js';
import type { Packable } from '../message-pack/pack.js';

/** What a worker gets, pushed or pulled. The contract calls the id by both names; `attempt` and `retry_count` are ours. */
export function workerJob({ id, name, argument, timeout, attempt, retryCount }: HandedJob): Packable {
  return { id, job_id: id, name, argument, timeout, attempt, retry_count: retryCount };
}
