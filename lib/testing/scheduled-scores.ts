import { NEVER_SECONDS } from '../job/flows.js';
import type { WaitingJob } from './test-backend.js';

/** Sorts by time and then by number. Redis sorts ids with the same time as text, and with a test's clock many have the same. */
export function inOrder(one: WaitingJob, other: WaitingJob): number {
  return one.due - other.due || Number(one.id) - Number(other.id);
}

/** Ids and scores, alternating; scores are seconds. */
export function scoresOf(flat: readonly string[]): WaitingJob[] {
  return flat.flatMap((id, index) => (index % 2 === 0 ? [{ id, due: dueOf(Number(flat[index + 1])) }] : []));
}

/** Jobs that wait for others have a score that never comes. */
function dueOf(score: number): number {
  return score === NEVER_SECONDS ? Infinity : Math.round(score * 1000);
}
