import type { Place } from '../gearmonkey/core/client/job-store.js';
import type { Changes, DrainedStep, DrainStep } from '../gearmonkey/features/edits/edit-store.js';
import { scoreOf } from '../gearmonkey/core/client/placement.js';
import type { JobErrorInfo } from '../job/errors.js';
import type { Updated } from '../gearmonkey/core/wire/scripts.js';
import type { MemoryFunction } from './memory-function.js';
import type { MemoryJobs } from './memory-jobs.js';
import type { MemoryLimits } from './memory-limits.js';
import type { WaitingJobs } from './waiting-jobs.js';

/** Most jobs that one step of a drain ends. */
const STEP = 250;
const DRAINED: JobErrorInfo = { name: 'JobDrainedError', code: 'JOB_DRAINED', message: 'drained' };

interface Waiting {
  readonly jobs: MemoryJobs;
  readonly limits: MemoryLimits;
  readonly waiting: WaitingJobs;
  wake(): void;
}

/** Changes a job that waits and has not begun. */
export function updateJob(
  of: Waiting,
  id: string,
  { input, place, key }: Changes,
  now: number,
  /** Moves a job that waits for others; false if it doesn't. */
  moveLater: (place: Place) => boolean = () => false,
): Updated {
  const { jobs } = of;
  if (!jobs.has(id)) return 'missing';
  if (jobs.isFinal(id)) return 'finished';
  if (jobs.isBegun(id)) return 'begun';
  jobs.set(id, { input });
  if (place && moveLater({ ...place, score: scoreOf(place, now) } as Place)) return 'updated';
  if (of.limits.has(id)) moveLimited(of, id, { place, key }, now);
  else if (place) move(of, id, place, now);
  of.wake();
  return 'updated';
}

/** A job that is in that list already keeps its place. */
function move(
  { jobs, waiting: { queues } }: Waiting,
  id: string,
  { queue, ...time }: Place,
  now: number,
): void {
  if (queue !== 'scheduled' && queues.placeOf(id) === queue) return;
  queues.remove(id);
  const due = (scoreOf(time, now) ?? 0) * 1000;
  jobs.set(id, { due: queue === 'scheduled' ? due : '' });
  if (queue === 'scheduled') queues.schedule(id, due);
  else queues.add(id, queue);
}

/** The same for a job with a key, which may change. */
function moveLimited({ jobs, limits }: Waiting, id: string, { place, key }: Changes, now: number): void {
  const before = limits.placeOf(id);
  const name = key ?? before.key;
  if (name === before.key && (!place || (before.due === 0 && place.queue === before.queue))) return;
  const due = place ? (place.queue === 'scheduled' ? (scoreOf(place, now) ?? 0) * 1000 : 0) : before.due;
  const queue = place && place.queue !== 'scheduled' ? place.queue : before.queue;
  limits.finish(id, now);
  jobs.set(id, { key: name, queue, due: due > 0 ? due : '' });
  limits.add(id, name, queue, due, now);
}

/** Ends some of the jobs that wait in a queue. */
export function drainJobs(
  of: MemoryFunction,
  { queue, kind, limited, last }: DrainStep,
  now: number,
): DrainedStep {
  const { jobs, waiting } = of;
  const kindOf = (id: string) => (jobs.isBegun(id) ? 'retrying' : 'scheduled');
  const isChosen = (id: string) => kind === '' || kind === 'both' || kind === kindOf(id);
  const those = limited ? of.limits : waiting.queues;
  const chosen = those.idsIn(queue).filter((id) => Number(id) <= last && isChosen(id));
  const step = chosen.slice(0, STEP);
  for (const id of step) waiting.remove(id, now);
  // A job that expired and was ended for a client that waited for it is still in its queue.
  const ids = step.filter((id) => !jobs.isFinal(id));
  for (const id of ids) of.end(id, 'error', DRAINED.message, DRAINED, now, true);
  return { ids, cursor: chosen.length > step.length ? '1' : '0' };
}
