import { chunksOf } from '../../flow/chunks.js';
import type { QlessCalls } from './calls.js';
import { toRefusal, type QlessError } from './errors.js';
import { dataText } from './options.js';
import type { QlessJob } from './qless-job.js';
import type { QlessState } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';

const JOBS_A_CALL = 100;

/** Completes jobs without a next queue; adjacent ones of the same worker and queue in one call. */
export async function completeTogether(
  calls: QlessCalls,
  jobs: readonly QlessJob[],
  data: unknown,
): Promise<(QlessState | QlessError)[]> {
  const results: (QlessState | QlessError)[] = [];
  for (const group of groupsOf(jobs)) {
    for (const part of chunksOf(group, JOBS_A_CALL)) results.push(...(await completeOne(calls, part, data)));
  }
  return results;
}

async function completeOne(calls: QlessCalls, jobs: readonly QlessJob[], data: unknown) {
  const [{ worker, queue } = { worker: '', queue: '' }] = jobs.map(({ record }) => record);
  const pairs = jobs.flatMap(({ jid, klass, record }) => [
    jid,
    data === undefined ? record.data : dataText(klass, data),
  ]);
  const replies = await calls.sendOnce(scripts.completeMany, worker, queue, pairs);
  return replies.map((reply) => toRefusal(reply) ?? 'complete');
}

/** Adjacent jobs of the same worker and queue. */
function groupsOf(jobs: readonly QlessJob[]): QlessJob[][] {
  const groups: QlessJob[][] = [];
  for (const job of jobs) {
    const last = groups.at(-1);
    const { worker, queue } = last?.[0]?.record ?? {};
    if (last && job.record.worker === worker && job.record.queue === queue) last.push(job);
    else groups.push([job]);
  }
  return groups;
}
