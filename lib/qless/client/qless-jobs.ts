import { InvalidOptionError } from '../../job/errors.js';
import { checkOptions } from '../../job/known-options.js';
import { chunksOf } from '../../batching/chunks.js';
import type { QlessCalls } from './calls.js';
import { QlessDependencyError, QlessError, toRefusal } from './errors.js';
import { pageArguments, type PageOptions, dataText } from './options.js';
import { COMPLETE_OPTIONS, QlessJob, type CompleteOptions } from './qless-job.js';
import type { QlessState, Page } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** Ids of one call: Redis serves no other call while it works through them. */
const IDS_A_CALL = 200;
/** Calls that are sent before the first is answered. */
const PIPELINED = 100;

/** Jobs by their jid, in any queue. */
export class QlessJobs {
  static {
    showAs(QlessJobs, ({ calls: { connections } }) => ({
      server: connections.commands.address,
      prefix: connections.prefix,
    }));
  }

  /** @internal */
  constructor(private readonly calls: QlessCalls) {}

  /** Returns the job, or null if there is none of that jid. */
  async get(jid: string): Promise<QlessJob | null> {
    const record = await this.calls.sendRetrying(scripts.get, jid);
    return record && new QlessJob(this.calls, record);
  }

  /** Returns the existing jobs, in the order of the jids. */
  async getMany(jids: readonly string[]): Promise<QlessJob[]> {
    const found = chunksOf(jids, IDS_A_CALL).map((part) => this.calls.sendRetrying(scripts.multiget, part));
    return (await Promise.all(found)).flat().map((record) => new QlessJob(this.calls, record));
  }

  /**
   * Completes popped jobs: without `next` up to a hundred of a worker and queue per call. Returns for each its new
   * state, or the error that it was refused with.
   *
   * @throws ConfigurationError, InvalidOptionError, ConnectionError
   */
  async completeMany(
    jobs: readonly QlessJob[],
    options: CompleteOptions = {},
  ): Promise<(QlessState | QlessError)[]> {
    checkOptions('completeMany', options, COMPLETE_OPTIONS);
    if (options.next === undefined) {
      checkEnd(options);
      return completeTogether(this.calls, jobs, options.data);
    }
    const results: (QlessState | QlessError)[] = [];
    for (const part of chunksOf(jobs, PIPELINED))
      results.push(...(await Promise.all(part.map((job) => job.complete(options).catch(refusal)))));
    return results;
  }

  /**
   * Deletes jobs, and ignores jids without a job. A list of more than 200 takes several calls: if one fails, others
   * may have deleted their jobs.
   *
   * @throws QlessDependencyError when another job depends on one of them
   */
  async cancel(...jids: string[]): Promise<void> {
    let left = chunksOf(jids, IDS_A_CALL);
    while (left.length > 1) {
      const refused = await this.cancelEach(left);
      // Jobs that depend on each other across parts must be cancelled in one call.
      if (refused.length === left.length) break;
      left = refused;
    }
    if (left.length > 0) await this.calls.sendRetrying(scripts.cancel, left.flat());
  }

  /** Takes running jobs from their workers; they are popped next. @throws QlessStateError if one is not running */
  async timeout(...jids: string[]): Promise<void> {
    for (const part of chunksOf(jids, IDS_A_CALL)) await this.calls.sendOnce(scripts.timeout, part);
  }

  /** Returns the jids of complete jobs, latest first. */
  async complete(page?: PageOptions): Promise<string[]> {
    return this.calls.sendRetrying(scripts.completeJobs, 'complete', ...pageArguments(page));
  }

  /** Returns the number of failed jobs by group. */
  failures(): Promise<Record<string, number>> {
    return this.calls.sendRetrying(scripts.failures);
  }

  /** Returns the failed jobs of a group, latest first. */
  async failed(group: string, page?: PageOptions): Promise<Page> {
    return this.calls.sendRetrying(scripts.failed, group, ...pageArguments(page));
  }

  /** Returns the tracked jobs, and the jids of tracked jobs that no longer exist. */
  async tracked(): Promise<{ jobs: QlessJob[]; expired: string[] }> {
    const { jobs, expired } = await this.calls.sendRetrying(scripts.tracked);
    return { jobs: jobs.map((record) => new QlessJob(this.calls, record)), expired };
  }

  /** Returns the jids of jobs with the tag, in the order in which they were tagged. */
  async tagged(tag: string, page?: PageOptions): Promise<Page> {
    return this.calls.sendRetrying(scripts.tagged, 'get', tag, ...pageArguments(page));
  }

  /** Returns tags that two jobs or more have, the most used first. */
  async topTags(page?: PageOptions): Promise<string[]> {
    return this.calls.sendRetrying(scripts.topTags, 'top', ...pageArguments(page));
  }

  /** Returns the parts that were refused because of a job in another part. */
  private async cancelEach(parts: readonly string[][]): Promise<string[][]> {
    const refused: string[][] = [];
    for (const part of parts) {
      try {
        await this.calls.sendRetrying(scripts.cancel, part);
      } catch (error) {
        if (!(error instanceof QlessDependencyError)) throw error;
        refused.push(part);
      }
    }
    return refused;
  }
}

/** @throws InvalidOptionError for options that would be ignored */
function checkEnd({ delay, depends }: CompleteOptions): void {
  const [option, value] = delay === undefined ? (['depends', depends] as const) : (['delay', delay] as const);
  if (value !== undefined) throw new InvalidOptionError(option, value, 'absent without `next`');
}

function refusal(error: unknown): QlessError {
  if (error instanceof QlessError) return error;
  throw error;
}

const JOBS_A_CALL = 100;

/** Completes jobs without a next queue; adjacent ones of the same worker and queue in one call. */
async function completeTogether(
  calls: QlessCalls,
  jobs: readonly QlessJob[],
  data: unknown,
): Promise<(QlessState | QlessError)[]> {
  const results: (QlessState | QlessError)[] = [];
  for (const group of groupsOf(jobs)) {
    for (const part of chunksOf(group, JOBS_A_CALL)) results.push(...(await completeOne(calls, part, data)));
  }
  return results;
}

async function completeOne(calls: QlessCalls, jobs: readonly QlessJob[], data: unknown) {
  const [{ worker, queue } = { worker: '', queue: '' }] = jobs.map(({ record }) => record);
  const pairs = jobs.flatMap(({ jid, klass, record }) => [
    jid,
    data === undefined ? record.data : dataText(klass, data),
  ]);
  const replies = await calls.sendOnce(scripts.completeMany, worker, queue, pairs);
  return replies.map((reply) => toRefusal(reply) ?? 'complete');
}

/** Adjacent jobs of the same worker and queue. */
function groupsOf(jobs: readonly QlessJob[]): QlessJob[][] {
  const groups: QlessJob[][] = [];
  for (const job of jobs) {
    const last = groups.at(-1);
    const { worker, queue } = last?.[0]?.record ?? {};
    if (last && job.record.worker === worker && job.record.queue === queue) last.push(job);
    else groups.push([job]);
  }
  return groups;
}
