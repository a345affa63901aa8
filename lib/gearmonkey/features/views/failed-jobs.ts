import { BehaviorSubject } from 'rxjs';
import { InvalidOptionError, JobNotFoundError } from '../../../job/errors.js';
import type { BulkRun, EndedJobs, FailureGroup } from '../../../job/failed-jobs.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import type { ListedJob } from '../../../job/job-views.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import { checkTag } from '../../../job/tags.js';
import { toListedJob } from './listed-job.js';
import { textOf } from '../../core/wire/stored-job.js';
import { groupFailures, groupOf, type ShownError } from './failure-groups.js';
import type { EndedJob, MendVerb, ViewsStore } from './view-store.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';

const ENDED = optionNames<Required<EndedJobs>>({ state: true, group: true, tag: true, before: true });
/** Jobs of a page, and of a step. */
const STEP = 100;
/** How many failed jobs are grouped, the newest ones. */
const GROUPED = 1000;

type Steps = AsyncGenerator<number>;

/** Groups, how many jobs were grouped, and how many have failed. */
export interface GroupedFailures {
  readonly groups: FailureGroup[];
  readonly looked: number;
  readonly total: number;
}

/** Groups failed jobs, and retries or deletes them. */
export class FailedJobs {
  constructor(
    private readonly store: ViewsStore,
    private readonly functions: KnownFunctions,
  ) {}

  async groups(ref: FunctionRef, shownOf?: ShownError): Promise<GroupedFailures> {
    const fn = this.functions.nameOf(ref);
    const jobs: ListedJob[] = [];
    let total = 0;
    for (let page: string | undefined = ''; page !== undefined && jobs.length < GROUPED;) {
      const query = { state: 'failed', newest: true, size: STEP, page, payloads: false } as const;
      const found = await this.store.views.list(fn, query);
      jobs.push(...found.jobs.map(({ id, stored }) => toListedJob(fn, id, 'failed', stored)));
      page = found.next === '' ? undefined : found.next;
      total = found.total;
    }
    return { groups: groupFailures(jobs, shownOf), looked: jobs.length, total: Math.max(total, jobs.length) };
  }

  mend(verb: MendVerb, ref: FunctionRef, which: string | number | EndedJobs): BulkRun {
    const fn = this.functions.nameOf(ref);
    if (typeof which === 'string' || typeof which === 'number')
      return runSteps(this.one(verb, fn, String(which)));
    return runSteps(this.many(verb, fn, checkEnded(verb, which)));
  }

  private async *one(verb: MendVerb, fn: string, id: string): Steps {
    const [stored] = await this.store.read(fn, [id]);
    if (!stored) throw new JobNotFoundError(fn, id);
    if (textOf(stored, 'status') !== 'error') return;
    yield await this.store.views.mend(fn, verb, [{ id, finished: textOf(stored, 'finished') ?? '' }]);
  }

  /** Goes through the list until it finds nothing more: what is moved meanwhile may move a page. */
  private async *many(verb: MendVerb, fn: string, which: EndedJobs): Steps {
    const last = await this.lastOf(fn, which);
    for (let moved = 1; moved > 0 && last !== undefined;) {
      moved = 0;
      for (let page: string | undefined = ''; page !== undefined;) {
        const found = await this.page(fn, which, page, last);
        const step = found.jobs.length === 0 ? 0 : await this.store.views.mend(fn, verb, found.jobs);
        moved += step;
        yield step;
        page = found.next;
      }
    }
  }

  /** The time of the last job that had ended when the call began, by the server's clock. */
  private async lastOf(fn: string, { state }: EndedJobs): Promise<number | undefined> {
    const query = { state, newest: true, size: 1, page: '', payloads: false };
    const [newest] = (await this.store.views.list(fn, query)).jobs;
    return newest && Number(textOf(newest.stored, 'finished') ?? Infinity);
  }

  private async page(fn: string, { state, group, tag, before }: EndedJobs, page: string, last: number) {
    const query = { newest: false, size: STEP, page, payloads: false };
    const { views } = this.store;
    const found =
      tag === undefined
        ? views.list(fn, { ...query, state })
        : views.find(fn, { ...query, by: 'tag', text: tag });
    const { jobs, next } = await found;
    const chosen: EndedJob[] = [];
    let isOver = next === '';
    for (const { id, stored } of jobs) {
      const finished = textOf(stored, 'finished') ?? '';
      const isLate = Number(finished) > last || (before && Number(finished) >= before.getTime());
      // Those of a tag are not in the order of their ends.
      if (isLate) isOver ||= tag === undefined;
      else if (isOf(toListedJob(fn, id, state, stored), textOf(stored, 'state'), { state, group, tag }))
        chosen.push({ id, finished });
    }
    return { jobs: chosen, next: isOver ? undefined : next };
  }
}

/** @param found its state if it was found by a tag */
function isOf(
  { error, tags }: ListedJob,
  found: string | undefined,
  { state, group, tag }: EndedJobs,
): boolean {
  if (tag !== undefined && (found !== state || !tags?.includes(tag))) return false;
  return group === undefined || group === groupOf(error);
}

/** @throws ConfigurationError, InvalidOptionError */
function checkEnded(verb: MendVerb, given: EndedJobs): EndedJobs {
  const which = checkOptions(verb, given, ENDED);
  const { state, group, tag, before } = which;
  if (state !== 'failed' && state !== 'cancelled')
    throw new InvalidOptionError('state', state, "'failed' or 'cancelled'");
  if (group !== undefined && (typeof group !== 'string' || !/^[\da-f]{12}$/.test(group)))
    throw new InvalidOptionError('group', group, 'the `group` of one of `failures`');
  if (tag !== undefined) checkTag('tag', tag);
  if (before !== undefined && !(before instanceof Date && !Number.isNaN(before.getTime())))
    throw new InvalidOptionError('before', before, 'a valid Date');
  return which;
}

function runSteps(steps: Steps): BulkRun {
  const progress = new BehaviorSubject(0);
  let isCancelled = false;
  const run = async () => {
    try {
      for await (const step of steps) {
        if (step > 0) progress.next(progress.value + step);
        if (isCancelled) break;
      }
      progress.complete();
      return progress.value;
    } catch (error) {
      progress.error(error);
      throw error;
    }
  };
  const done = run();
  // Callers that only observe the progress get the error there.
  done.catch(() => undefined);
  return { progress$: progress.asObservable(), done, cancel: () => void (isCancelled = true) };
}
