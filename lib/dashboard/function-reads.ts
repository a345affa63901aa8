import { Inject, Injectable } from '@nestjs/common';
import { messageOf } from '../job/errors.js';
import { RefusedError } from '../job/server-errors.js';
import type { JobStatistics, StatisticsOptions } from '../job/statistics.js';
import type { Schedule } from '../gearmonkey/recurring/schedule.js';
import type { PresentWorker } from '../gearmonkey/client/view-store.js';
import type { Rights } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { wholeJob } from './job-view.js';
import { JobReads, type Query } from './job-reads.js';
import type { ReadOverview } from './live-reader.js';
import { Redaction } from './redaction.js';
import { scheduleWords } from './schedule-words.js';
import { dateOf } from './times.js';
import { sumOf } from './statistics-sum.js';
import { unknownAmong } from './unknown-functions.js';
import { DashboardAccess, type Viewed, type ViewedFunction } from './viewed-instance.js';

const SUM_AGE_MS = 60_000;
const MOST_SUMS = 50;
const MOST_SCHEDULES = 200;
const NEXT = 5;
const MOST_RUNNING = 100;
/** More functions are not looked through for workers and sums. */
const MOST_FUNCTIONS = 200;

interface Sum {
  readonly at: number;
  readonly value: Promise<JobStatistics[]>;
}

/** Reads what concerns functions as a whole. */
@Injectable()
export class FunctionReads {
  private readonly sums = new Map<string, Sum>();

  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(Redaction) private readonly redaction: Redaction,
    @Inject(JobReads) private readonly jobs: JobReads,
  ) {}

  async overview(user: DashboardUser, query: Query) {
    const counted = this.access.counted(query['i']);
    const { i } = counted;
    const names = (await counted.functions()).filter((fn) => this.access.mayView(user, fn, i));
    return (await counted.overviewOf(names)).map((overview) => this.shown(user, i, overview));
  }

  shown(user: DashboardUser, i: string, overview: ReadOverview) {
    const act = !overview.unknown && this.access.mayActAtAll(user, overview.fn, i);
    return { ...overview, act };
  }

  async namesFor(user: DashboardUser, { i, client }: Viewed): Promise<string[]> {
    return (await client.functions()).filter((fn) => this.access.mayView(user, fn, i));
  }

  async rights(user: DashboardUser, query: Query): Promise<Rights> {
    const { i, client, fn } = this.access.viewed(user, query['i'], query['fn']);
    const [unknown] = await unknownAmong(client, await client.overviewOf([fn]));
    if (unknown !== undefined) return { actions: [], unknown: true };
    return { actions: this.access.actionsOf(user, fn, i) };
  }

  async statistics(user: DashboardUser, query: Query) {
    const options = periodOf(query);
    if (query['fn'] === undefined) return this.sum(user, this.access.instance(query['i']), options);
    const { client, fn } = this.access.viewed(user, query['i'], query['fn']);
    return client.statistics(fn, options);
  }

  async failures(user: DashboardUser, query: Query) {
    const { i, client, fn } = this.access.viewed(user, query['i'], query['fn']);
    const { groups, ...counts } = await client.groupedFailures(fn);
    const shown = groups.map((group) => ({ ...group, ...this.redaction.error(group, { instance: i, fn }) }));
    return { groups: shown, ...counts };
  }

  async limits(user: DashboardUser, query: Query) {
    const { client, fn, i } = this.access.viewed(user, query['i'], query['fn']);
    const limits = await client.limits(fn);
    if (user.view === true) return limits;
    const { functions, unread } = await client.sharing(fn);
    // One that can't be read may share it.
    if ([...functions, ...unread].every((one) => this.access.mayView(user, one, i))) return limits;
    // Keys that only jobs of other functions have are theirs to see.
    const { jobs } = await client.list(fn, { state: 'running', size: MOST_RUNNING });
    const running = new Set(jobs.map(({ key }) => key));
    return limits.filter(({ key, waiting }) => waiting > 0 || running.has(key));
  }

  async schedules(user: DashboardUser, query: Query) {
    const viewed = this.access.instance(query['i']);
    const fn = query['fn'] === undefined ? undefined : this.access.viewed(user, query['i'], query['fn']).fn;
    const all = await viewed.client.schedules.list(fn);
    const shown = all.filter((schedule) => this.access.mayView(user, schedule.fn, viewed.i));
    return Promise.all(shown.slice(0, MOST_SCHEDULES).map((each) => this.schedule(user, viewed, each)));
  }

  async workers(user: DashboardUser, query: Query) {
    const viewed = this.access.instance(query['i']);
    const { client, i } = viewed;
    const names =
      query['fn'] === undefined
        ? (await this.namesFor(user, viewed)).slice(0, MOST_FUNCTIONS)
        : [this.access.viewed(user, i, query['fn']).fn];
    const functions = (await client.overviewOf(names)).map(({ fn, workers, running }) => ({
      ...{ fn, workers, running },
    }));
    const present = await Promise.all(names.map((fn) => presentOf(client, fn)));
    const busy = functions.filter(({ running }) => running > 0);
    const lists = await Promise.all(
      busy.map(async ({ fn }) => {
        const { jobs } = await client.list(fn, { state: 'running', size: MOST_RUNNING });
        return jobs.map((job) => this.jobs.shownListed({ ...viewed, fn }, job));
      }),
    );
    return { workers: byWorker(names, present, Date.now()), functions, running: lists.flat() };
  }

  private async schedule(user: DashboardUser, { i, client }: Viewed, schedule: Schedule) {
    const { input: _input, app, problem, lastJob, ...rest } = schedule;
    const next = await nextOf(client.schedules.next(schedule.id, NEXT), schedule);
    const act = (['schedule-run', 'schedule-pause', 'schedule-resume'] as const).some((action) =>
      this.access.mayAct(user, action, schedule.fn, i),
    );
    const last = lastJob === undefined ? [] : await this.last({ i, client, fn: schedule.fn }, lastJob);
    const why =
      problem === undefined
        ? {}
        : { problem: this.redaction.text(problem, 'field', { instance: i, fn: schedule.fn }) };
    return { ...rest, words: scheduleWords(schedule), next, last, app: app?.name, ...why, act };
  }

  /** A schedule's last job, if it is still kept. */
  private async last({ client, fn }: ViewedFunction, id: string) {
    const described = await client.described(fn, id);
    if (!described) return [];
    const { state, times, recurring } = wholeJob(fn, id, described, Date.now());
    return [
      {
        id,
        state,
        ...(recurring && { slot: recurring.slot }),
        ...(times.finished && { finished: times.finished }),
      },
    ];
  }

  /** The sum over all functions is the same for all tabs, and read once a minute. */
  private async sum(user: DashboardUser, viewed: Viewed, options: StatisticsOptions) {
    const names = (await this.namesFor(user, viewed)).slice(0, MOST_FUNCTIONS);
    const minute = (time: Date | undefined) => Math.floor((time?.getTime() ?? 0) / SUM_AGE_MS);
    const { by, from, to } = options;
    const key = JSON.stringify([viewed.i, by, minute(from), minute(to), names]);
    const known = this.sums.get(key);
    if (known && Date.now() - known.at < SUM_AGE_MS) return known.value;
    const all = names.map((fn) => viewed.client.statistics(fn, options));
    const value = Promise.all(all).then(sumOf);
    this.sums.delete(key);
    this.sums.set(key, { at: Date.now(), value });
    value.catch(() => this.sums.delete(key));
    for (const oldest of this.sums.keys()) if (this.sums.size > MOST_SUMS) this.sums.delete(oldest);
    return value;
  }
}

async function nextOf(asked: Promise<Date[]>, { problem }: Schedule): Promise<Date[]> {
  try {
    return await asked;
  } catch (error) {
    // One that another program wrote wrongly is shown with its problem; one that is gone has no next.
    if (problem === undefined && !/SCHEDULE/.test(String((error as { code?: unknown }).code)))
      throw new ApiFailure(500, 'SCHEDULE', messageOf(error));
    return [];
  }
}

/** None if its key is of another type: those of the others are still shown. */
async function presentOf(client: Viewed['client'], fn: string): Promise<PresentWorker[]> {
  try {
    return await client.workers(fn);
  } catch (error) {
    if (error instanceof RefusedError) return [];
    throw error;
  }
}

function byWorker(
  names: readonly string[],
  present: readonly (readonly { id: string; until: number }[])[],
  now: number,
) {
  const found = new Map<string, { functions: string[]; until: number }>();
  for (const [index, workers] of present.entries())
    for (const { id, until } of workers) {
      const known = found.get(id) ?? { functions: [], until: 0 };
      known.functions.push(names[index] ?? '');
      found.set(id, { functions: known.functions, until: Math.max(known.until, until) });
    }
  return [...found].slice(0, 1000).map(([id, { functions, until }]) => ({
    ...{ id, functions },
    until: new Date(Math.min(until, 8.64e15)),
    lost: until < now,
  }));
}

function periodOf({ by, from, to }: Query): StatisticsOptions {
  if (by !== undefined && by !== 'minute' && by !== 'hour' && by !== 'day')
    throw ApiFailure.invalid('by', 'minute, hour or day');
  const [first, last] = [dateOf('from', from), dateOf('to', to)];
  return { ...(by && { by }), ...(first && { from: first }), ...(last && { to: last }) };
}
