import { chunksOf } from '../../batching/chunks.js';
import { digestOf } from '../../job/digest.js';
import type { JobRecord } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import type { AskQless } from './ask-qless.js';

/** Failed jobs of a group in a queue. */
export interface FailedGroup {
  /** The JSON of a digest of its group, which workers write, and of its queue. */
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
  const found: FailedGroup[] = [];
  for (const group of await groupsOf(ask)) found.push(...byQueue(group, await failedOf(ask, group)));
  return found.sort((one, other) => other.jobs - one.jobs);
}

/** The newest failed jobs of a group in a queue. @param key as in `FailedGroup` */
export async function failedJobs(ask: AskQless, key: string): Promise<JobRecord[]> {
  const queue = queueOf(key);
  const group = (await groupsOf(ask)).find((one) => keyOf(one, queue) === key);
  if (group === undefined) return [];
  return (await failedOf(ask, group)).filter((job) => job.queue === queue && job.failure?.group === group);
}

/** The queue that a key stands for; of another text none. */
export function queueOf(key: string): string {
  try {
    const [, queue]: unknown[] = JSON.parse(key) as unknown[];
    return String(queue);
  } catch {
    return '';
  }
}

function keyOf(group: string, queue: string): string {
  return JSON.stringify([digestOf(group), queue]);
}

async function groupsOf(ask: AskQless): Promise<string[]> {
  return Object.keys(await ask(scripts.failures)).slice(0, MOST_GROUPS);
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
      ...{ key: keyOf(group, queue), group, queue, jobs: failures.length },
      message: last?.message ?? '',
      last: new Date((last?.when ?? 0) * 1000),
    };
  });
}
