import { nameProblem } from '../../../job/function-name.js';
import { checkWhole } from '../../../job/check-whole.js';
import { ConfigurationError, InvalidOptionError } from '../../../job/errors.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { JOB_STATES, type JobState } from '../../../job/job-state.js';
import type { FindOptions, FunctionOverview, JobList, ListOptions } from '../../../job/job-views.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import { checkTag } from '../../../job/tags.js';
import { toListedJob } from './listed-job.js';
import { textOf, type StoredJob } from '../../core/wire/stored-job.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';
import type { FindQuery, ViewedJobs, ViewStore } from './view-store.js';

const LIST = optionNames<Required<ListOptions>>({
  state: true,
  order: true,
  size: true,
  page: true,
  payloads: true,
});
const FIND = optionNames<Required<FindOptions>>({
  tag: true,
  key: true,
  id: true,
  order: true,
  size: true,
  page: true,
  payloads: true,
});
const MAX_TEXT = 1024;
const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;
/** What a page may be: the position of each list that it is read from. */
const PAGE = /^(?:[\d.e+-]*:\d{1,9})(?:,[\d.e+-]*:\d{1,9})*$/;

/** The same for jobs that are found: the id of the last one before it. */
const FOUND_PAGE = /^.{1,200}$/su;

/** Shows what there is of functions and their jobs. */
export class JobViews {
  constructor(
    private readonly store: ViewStore,
    private readonly functions: KnownFunctions,
  ) {}

  /** The functions of the server and of this process that can be named here, in order. */
  async names(): Promise<string[]> {
    const names = new Set([...(await this.store.functions()), ...this.functions.names()]);
    // Other programs write the names on the server.
    return [...names].filter((fn) => this.functions.knows(fn) && nameProblem(fn) === undefined).sort();
  }

  async overview(functions?: readonly string[]): Promise<FunctionOverview[]> {
    const named = functions?.map((fn) => this.functions.nameOf(fn));
    return this.store.overview(named ?? (await this.names()), named === undefined);
  }

  async list(ref: FunctionRef, options: ListOptions): Promise<JobList> {
    const { state, order = 'newest' } = checkOptions('list', options, LIST);
    const fn = this.functions.nameOf(ref);
    if (!JOB_STATES.includes(state))
      throw new InvalidOptionError('state', state, `one of ${JOB_STATES.join(', ')}`);
    const query = { state, ...checkOrder(order), ...checkPage(options, PAGE) };
    return toJobList(fn, state, await this.store.list(fn, query));
  }

  async find(ref: FunctionRef, options: FindOptions): Promise<JobList> {
    const { order = 'newest', ...given } = checkOptions('find', options, FIND);
    const fn = this.functions.nameOf(ref);
    const sought = soughtOf(given);
    const query = { ...sought, ...checkOrder(order), ...checkPage(given, FOUND_PAGE) };
    const found = await this.store.find(fn, query);
    const jobs = found.jobs
      .map(({ id, stored }) => toListedJob(fn, id, stateOf(stored), stored))
      // After a failover another job may have the id of one with the tag.
      .filter(({ tags }) => sought.by !== 'tag' || tags?.includes(sought.text));
    const isAll = query.page === '' && found.next === '';
    return {
      jobs,
      total: isAll ? jobs.length : found.total,
      ...(found.next !== '' && { next: found.next }),
    };
  }
}

/** @throws InvalidOptionError, ConfigurationError */
function soughtOf({ tag, key, id }: FindOptions): Pick<FindQuery, 'by' | 'text'> {
  const given = [tag, key, id].filter((value) => value !== undefined);
  if (given.length !== 1) throw new ConfigurationError('`find` takes one of `tag`, `key` and `id`.');
  if (tag !== undefined) return { by: 'tag', text: checkTag('tag', tag) };
  const text: unknown = id === undefined ? key : typeof id === 'number' ? String(id) : id;
  const by = id === undefined ? 'key' : 'id';
  if (typeof text !== 'string' || text === '' || text.length > MAX_TEXT)
    throw new InvalidOptionError(by, text, `text of 1 to ${MAX_TEXT} characters`);
  return { by, text };
}

function stateOf(stored: StoredJob): JobState {
  return textOf(stored, 'state') as JobState;
}

/** @throws InvalidOptionError */
function checkOrder(order: unknown): { newest: boolean } {
  if (order !== 'newest' && order !== 'oldest')
    throw new InvalidOptionError('order', order, "'newest' or 'oldest'");
  return { newest: order === 'newest' };
}

/** @throws InvalidOptionError */
function checkPage(
  { size = DEFAULT_SIZE, page = '', payloads = false }: Pick<ListOptions, 'size' | 'page' | 'payloads'>,
  pages: RegExp,
) {
  checkWhole('size', size, 1, MAX_SIZE);
  if (typeof page !== 'string' || (page !== '' && !pages.test(page)))
    throw new InvalidOptionError('page', page, 'the `next` of a page before');
  if (typeof payloads !== 'boolean') throw new InvalidOptionError('payloads', payloads, 'true or false');
  return { size, page, payloads };
}

function toJobList(fn: string, state: JobState, { jobs, total, next }: ViewedJobs): JobList {
  const listed = jobs.map(({ id, stored }) => toListedJob(fn, id, state, stored));
  return { jobs: listed, total, ...(next !== '' && { next }) };
}
