import type { Topic } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import type { Counted } from './counted.js';
import { DashboardAccess, type ViewedFunction } from './viewed-instance.js';

/** What a stream watches, checked against its user's rights. */
export interface Watched {
  /** `fns` undefined: all that the user may view. */
  readonly overviews: readonly { readonly viewed: Counted; readonly fns: readonly string[] | undefined }[];
  readonly jobs: readonly { readonly viewed: ViewedFunction; readonly id: string }[];
  readonly bulks: readonly string[];
}

const MOST_TOPICS = 20;
/** Of all its topics: a page shows one function, or all. */
const MOST_NAMES = 20;
const MOST_JOBS = 5;

/** @throws ApiFailure 400, 403, 404 */
export function watchedBy(access: DashboardAccess, user: DashboardUser, text: unknown): Watched {
  const topics = listOf(text);
  const jobs = topics.flatMap((topic) => {
    if (!('job' in topic)) return [];
    if (typeof topic.job !== 'string' || !/^\d{1,15}$/.test(topic.job))
      throw ApiFailure.invalid('topics', 'ids of jobs');
    return [{ viewed: access.viewed(user, topic.i, topic.fn), id: topic.job }];
  });
  let named = 0;
  const overviews = topics.flatMap((topic) => {
    if (!('overview' in topic)) return [];
    const viewed = access.counted(topic.overview);
    if (topic.fns !== undefined && !Array.isArray(topic.fns))
      throw ApiFailure.invalid('topics', 'lists of names');
    named += topic.fns?.length ?? 0;
    if (named > MOST_NAMES) throw ApiFailure.invalid('topics', `at most ${MOST_NAMES} names`);
    return [{ viewed, fns: topic.fns?.map((fn) => access.functionFor(user, viewed.i, fn)) }];
  });
  const bulks = topics.flatMap((topic) => {
    if (!('bulk' in topic)) return [];
    if (typeof topic.bulk !== 'string') throw ApiFailure.invalid('topics', 'ids of bulk runs');
    return [topic.bulk];
  });
  if (jobs.length > MOST_JOBS) throw ApiFailure.invalid('topics', `at most ${MOST_JOBS} jobs`);
  return { overviews, jobs, bulks };
}

function listOf(text: unknown): Topic[] {
  try {
    const topics: unknown = JSON.parse(typeof text === 'string' ? text : '');
    if (Array.isArray(topics) && topics.length <= MOST_TOPICS && topics.every(isObject))
      return topics as Topic[];
  } catch {
    // Answered below.
  }
  throw ApiFailure.invalid('topics', `the JSON of at most ${MOST_TOPICS} topics`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
