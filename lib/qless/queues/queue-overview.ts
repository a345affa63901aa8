import { defined } from '../../job/defined.js';
import type { QueueOverview } from '../../job/job-views.js';
import type { JobRecord, QueueCounts } from '../wire/replies.js';

/** Of how many queues the age is read, which takes a question each. */
const MOST_AGES = 100;

/** The questions of an overview. */
export interface QueueQuestions {
  queues(): Promise<QueueCounts[]>;
  /** The job that would be popped next. */
  next(queue: string): Promise<JobRecord[]>;
}

/** All queues. Jobs whose locks have expired count as waiting. */
export async function readOverview(ask: QueueQuestions): Promise<QueueOverview[]> {
  const queues = await ask.queues();
  const aged = queues.filter(({ waiting, stalled }) => waiting + stalled > 0).slice(0, MOST_AGES);
  const ages = await Promise.all(
    aged.map(async ({ name }) => [name, createdOf(await ask.next(name))] as const),
  );
  const oldest = new Map(ages);
  return queues.map((queue) => toOverview(queue, oldest.get(queue.name)));
}

function toOverview(counts: QueueCounts, oldest: Date | undefined): QueueOverview {
  const { name, waiting, stalled, scheduled, depends, running, paused } = counts;
  const all = { high: 0, normal: waiting + stalled, low: 0 };
  return defined({ fn: name, waiting: all, scheduled: scheduled + depends, running, paused, oldest });
}

/** When a job was put into its queue. */
function createdOf([job]: readonly JobRecord[]): Date | undefined {
  const put = job?.history.findLast(({ what }) => what === 'put');
  return put && new Date(put.when * 1000);
}
