import { chunksOf } from '../../flow/chunks.js';
import type { JobRecord } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import type { AskQless } from './ask-qless.js';

/** Failed jobs of a group in a queue. */
export interface FailedGroup {
  /** The JSON of its group and queue. */
  readonly key: string;
  readonly group: string;
  readonly queue: string;
  /** Of the jobs that were looked at. */
  readonly jobs: number;
  /** Of the last of them. */
  readonly message: string;
  readonly last: Date;
}

const MOST_GROUPS = 50;
/** Of each group, the newest jobs. */
const MOST_OF_GROUP = 1000;
/** A job may be large. */
const JOBS_A_CALL = 100;

/** Failed jobs by group and queue: the newest 1,000 of 50 groups. */
export async function readFailures(ask: AskQless): Promise<FailedGroup[]> {
  const groups = Object.keys(await ask(scripts.failures)).slice(0, MOST_GROUPS);
  const found: FailedGroup[] = [];
  for (const group of groups) found.push(...byQueue(group, await failedOf(ask, group)));
  return found.sort((one, other) => other.jobs - one.jobs);
}

/** The newest failed jobs of a group in a queue. @param key as in `FailedGroup` */
export async function failedJobs(ask: AskQless, key: string): Promise<JobRecord[]> {
  const [group, queue] = groupOf(key);
  return (await failedOf(ask, group)).filter((job) => job.queue === queue && job.failure?.group === group);
}

/** The group and the queue that a key stands for; of another text none. */
export function groupOf(key: string): readonly [group: string, queue: string] {
  try {
    const [group, queue]: unknown[] = JSON.parse(key) as unknown[];
    return [String(group), String(queue)];
  } catch {
    return ['', ''];
  }
}

async function failedOf(ask: AskQless, group: string): Promise<JobRecord[]> {
  const { jobs: jids } = await ask(scripts.failed, group, 0, MOST_OF_GROUP);
  const jobs: JobRecord[] = [];
  for (const some of chunksOf(jids, JOBS_A_CALL)) jobs.push(...(await ask(scripts.multiget, some)));
  return jobs;
}

function byQueue(group: string, jobs: readonly JobRecord[]): FailedGroup[] {
  return [...new Set(jobs.map(({ queue }) => queue))].map((queue) => {
    const failures = jobs.flatMap((job) => (job.queue === queue && job.failure ? [job.failure] : []));
    const last = failures.toSorted((one, other) => other.when - one.when)[0];
    return {
      ...{ key: JSON.stringify([group, queue]), group, queue, jobs: failures.length },
      message: last?.message ?? '',
      last: new Date((last?.when ?? 0) * 1000),
    };
  });
}
