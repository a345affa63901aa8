import { groupOf } from '../gearmonkey/client/failure-groups.js';
import type { JobState } from '../job/job-state.js';
import type { ListedJob } from '../job/job-views.js';
import type { ActReply, Which } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import { dateOf } from './times.js';
import type { ViewedFunction } from './viewed-instance.js';

/** Jobs with a tag are looked at one by one, at most so many pages. */
const MOST_PAGES = 10;
const A_PAGE = 100;

type Count = Pick<ActReply, 'count' | 'atLeast' | 'atMost' | 'looked'>;

/** How many jobs there are now that an action would be done to; of a group, among those that `failures` looks at. */
export async function countOf(viewed: ViewedFunction, which: Which, state: JobState): Promise<Count> {
  const { group, tag, before } = which;
  const { client, fn } = viewed;
  if (tag !== undefined) return countTagged(viewed, tag, (job) => isOf(job, which, state));
  const { total } = await client.list(fn, { state, size: 1 });
  if (group === undefined) return { count: total, ...(before !== undefined && { atMost: true }) };
  const { groups, looked, total: failed } = await client.groupedFailures(fn);
  const count = groups.find((one) => one.group === group)?.count ?? 0;
  return { count, ...(failed > looked && { atLeast: true, looked }) };
}

async function countTagged(
  { client, fn }: ViewedFunction,
  tag: string,
  isChosen: (job: ListedJob) => boolean,
): Promise<Count> {
  if (typeof tag !== 'string') throw ApiFailure.invalid('which.tag', 'text');
  let count = 0;
  let page: string | undefined = '';
  for (let pages = 0; pages < MOST_PAGES && page !== undefined; pages++) {
    const found = await client.find(fn, { tag, size: A_PAGE, page });
    count += found.jobs.filter(isChosen).length;
    page = found.next;
  }
  return { count, ...(page !== undefined && { atLeast: true }) };
}

function isOf(job: ListedJob, { group, before }: Which, state: JobState): boolean {
  if (job.state !== state || (group !== undefined && groupOf(job.error) !== group)) return false;
  const end = dateOf('which.before', before);
  return !end || (job.times.finished !== undefined && job.times.finished < end);
}
