import {
  scoreOf,
  type Changes,
  type DrainedStep,
  type DrainStep,
  type Place,
} from '../gearmonkey/client/job-store.js';
import type { JobErrorInfo } from '../job/errors.js';
import type { Updated } from '../gearmonkey/wire/scripts.js';
import type { MemoryFunction } from './memory-function.js';
import type { MemoryJobs } from './memory-jobs.js';
import type { MemoryQueues } from './memory-queues.js';

/** Most jobs that one step of a drain ends. */
const STEP = 250;
const DRAINED: JobErrorInfo = { name: 'JobDrainedError', code: 'JOB_DRAINED', message: 'drained' };

interface Waiting {
  readonly jobs: MemoryJobs;
  readonly queues: MemoryQueues;
  wake(): void;
}

/** Changes a job that waits and has not begun. */
export function updateJob(of: Waiting, id: string, { input, place }: Changes, now: number): Updated {
  const { jobs } = of;
  if (!jobs.has(id)) return 'missing';
  if (jobs.isFinal(id)) return 'finished';
  if (jobs.isBegun(id)) return 'begun';
  jobs.set(id, { input });
  if (place) move(of, id, place, now);
  of.wake();
  return 'updated';
}

/** A job that is in that list already keeps its place. */
function move({ jobs, queues }: Waiting, id: string, { queue, ...time }: Place, now: number): void {
  if (queue !== 'scheduled' && queues.placeOf(id) === queue) return;
  queues.remove(id);
  const due = (scoreOf(time, now) ?? 0) * 1000;
  jobs.set(id, { due: queue === 'scheduled' ? due : '' });
  if (queue === 'scheduled') queues.schedule(id, due);
  else queues.add(id, queue);
}

/** Ends some of the jobs that wait in a queue. */
export function drainJobs(of: MemoryFunction, { queue, kind, last }: DrainStep, now: number): DrainedStep {
  const { jobs, queues } = of;
  const kindOf = (id: string) => (jobs.isBegun(id) ? 'retrying' : 'scheduled');
  const isChosen = (id: string) => kind === '' || kind === 'both' || kind === kindOf(id);
  const chosen = queues.idsIn(queue).filter((id) => Number(id) <= last && isChosen(id));
  const step = chosen.slice(0, STEP);
  queues.remove(...step);
  // A job that expired and was ended for a client that waited for it is still in its queue.
  const ids = step.filter((id) => !jobs.isFinal(id));
  for (const id of ids) of.end(id, 'error', DRAINED.message, DRAINED, now);
  return { ids, cursor: chosen.length > step.length ? '1' : '0' };
}
