import type { EndedJob, MendVerb } from '../gearmonkey/features/views/view-store.js';
import { splitSignals, WAITS_FIELD, waitField } from '../job/signals.js';
import type { MemoryFunction } from './memory-function.js';
import { listOf } from './memory-queues.js';

const OF_THE_END = [
  'output',
  'error',
  'finished',
  'stalls',
  'snoozes',
  'due',
  'retry',
  'cancelled',
  'after',
  'place',
  'status:dividend',
  'status:divisor',
];

/** Puts jobs that failed or were cancelled back into their queues, or deletes them, as `mend.lua` does. */
export function mendJobs(
  of: MemoryFunction,
  verb: MendVerb,
  jobs: readonly EndedJob[],
  now: number,
  flows: FlowsOfMend,
): number {
  const unchanged = ({ id, finished }: EndedJob) =>
    of.jobs.text(id, 'status') === 'error' && of.jobs.text(id, 'finished') === finished;
  const mended = jobs.filter((job) => unchanged(job) && (verb === 'retry' || !flows.isHeld(job.id)));
  for (const { id } of mended) {
    of.lists.forget(id);
    if (verb === 'discard') of.jobs.delete(id);
    else {
      flows.retried(id);
      retry(of, id, now);
    }
  }
  return mended.length;
}

/** What flows have to know, and say, of jobs of this function. */
interface FlowsOfMend {
  /** Whether jobs that have not ended may read its output. */
  isHeld(id: string): boolean;
  retried(id: string): void;
}

function retry(of: MemoryFunction, id: string, now: number): void {
  const { jobs, waiting } = of;
  // A job that expired may still be in its queue.
  waiting.remove(id, now);
  const options = jobs.text(id, 'options');
  if (options.includes('"expires"')) jobs.set(id, { options: withoutExpiry(options) });
  const waited = splitSignals(jobs.text(id, WAITS_FIELD)).map(waitField);
  jobs.clear(id, [...OF_THE_END, WAITS_FIELD, ...waited]);
  jobs.set(id, { status: 'idle', attempts: 0 });
  const key = jobs.bytes(id, 'key') && jobs.text(id, 'key');
  waiting.addAgain(id, listOf(jobs.text(id, 'queue')), key, now);
  of.publish('create', id);
  of.wake();
}

function withoutExpiry(text: string): string {
  const { expires: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify(rest);
}
