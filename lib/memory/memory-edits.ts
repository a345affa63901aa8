import { scoreOf, type Changes, type Place } from '../gearmonkey/client/job-store.js';
import type { Updated } from '../gearmonkey/wire/scripts.js';
import type { MemoryJobs } from './memory-jobs.js';
import type { MemoryQueues } from './memory-queues.js';

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
