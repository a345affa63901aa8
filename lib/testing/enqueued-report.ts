import { delayOf, mismatches, named, type EnqueuedJob, type ExpectedJob } from './expected-job.js';
import { show } from './show-value.js';

/** How many jobs a message names. */
const MAX_NAMED = 10;

/** Explains why no job matches: lists what was enqueued instead, and how each job differs. */
export function missingReport(fn: string, expected: ExpectedJob, all: readonly EnqueuedJob[]): string {
  const head = `No job of "${fn}" was enqueued${wanted(expected)}.`;
  const same = all.filter((job) => job.fn === fn);
  if (same.length > 0) {
    const lines = listed(same, (job) => [
      line(job),
      ...mismatches(expected, job).map((why) => `      ${why}`),
    ]);
    return [head, 'These were:', ...lines].join('\n');
  }
  if (all.length === 0) return `${head} Nothing was enqueued at all.`;
  return [head, 'Jobs of other functions were:', ...listed(all, (job) => [line(job)])].join('\n');
}

/** Lists jobs that should not have been enqueued. */
export function presentReport(fn: string, expected: ExpectedJob, found: readonly EnqueuedJob[]): string {
  const head = `A job of "${fn}" was enqueued${wanted(expected)}, and none was expected:`;
  return [head, ...listed(found, (job) => [line(job)])].join('\n');
}

function wanted(expected: ExpectedJob): string {
  return Object.keys(expected).length === 0 ? '' : ` with ${show(expected)}`;
}

function line(job: EnqueuedJob): string {
  const headers = Object.keys(job.headers).length > 0 ? `, headers ${show(job.headers)}` : '';
  return `  ${job.fn} ${job.id}: ${show(job.input)}, priority ${show(job.priority)}${headers}, runs ${delayOf(job)}${job.after ? ` behind ${named(job.after)}` : ''}`;
}

function listed(jobs: readonly EnqueuedJob[], linesOf: (job: EnqueuedJob) => string[]): string[] {
  const lines = jobs.slice(0, MAX_NAMED).flatMap(linesOf);
  return jobs.length > MAX_NAMED ? [...lines, `  and ${jobs.length - MAX_NAMED} more`] : lines;
}
