import { checkWhole } from '../../job/check-whole.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { FunctionRef } from '../../job/job-definition.js';
import {
  LISTED_STATES,
  type ListedState,
  type FunctionOverview,
  type JobList,
  type ListOptions,
} from '../../job/job-views.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { toListedJob } from '../wire/listed-job.js';
import type { KnownFunctions } from './known-functions.js';
import type { ViewedJobs, ViewStore } from './view-store.js';

const LIST = optionNames<Required<ListOptions>>({
  state: true,
  order: true,
  size: true,
  page: true,
  payloads: true,
});
const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;
/** What a page may be: the position of each list that it is read from. */
const PAGE = /^(?:[\d.e+-]*:\d{1,9})(?:,[\d.e+-]*:\d{1,9})*$/;

/** Shows what there is of functions and their jobs. */
export class JobViews {
  constructor(
    private readonly store: ViewStore,
    private readonly functions: KnownFunctions,
  ) {}

  async overview(): Promise<FunctionOverview[]> {
    const known = (await this.store.functions()).filter((fn) => this.functions.knows(fn));
    return this.store.overview(known);
  }

  async list(ref: FunctionRef, options: ListOptions): Promise<JobList> {
    const { state, order = 'newest' } = checkOptions('list', options, LIST);
    const fn = this.functions.nameOf(ref);
    if (!LISTED_STATES.includes(state))
      throw new InvalidOptionError('state', state, `one of ${LISTED_STATES.join(', ')}`);
    if (order !== 'newest' && order !== 'oldest')
      throw new InvalidOptionError('order', order, "'newest' or 'oldest'");
    const query = { state, newest: order === 'newest', ...checkPage(options) };
    return toJobList(fn, state, await this.store.list(fn, query));
  }
}

/** @throws InvalidOptionError */
function checkPage({ size = DEFAULT_SIZE, page = '', payloads = false }: Omit<ListOptions, 'state'>) {
  checkWhole('size', size, 1, MAX_SIZE);
  if (typeof page !== 'string' || (page !== '' && !PAGE.test(page)))
    throw new InvalidOptionError('page', page, 'the `next` of a page before');
  if (typeof payloads !== 'boolean') throw new InvalidOptionError('payloads', payloads, 'true or false');
  return { size, page, payloads };
}

function toJobList(fn: string, state: ListedState, { jobs, total, next }: ViewedJobs): JobList {
  const listed = jobs.map(({ id, stored }) => toListedJob(fn, id, state, stored));
  return { jobs: listed, total, ...(next !== '' && { next }) };
}
