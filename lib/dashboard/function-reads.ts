import { Inject, Injectable } from '@nestjs/common';
import { realNow } from '../job/real-time.js';
import type { JobStatistics, StatisticsOptions, TimeStatistics } from '../job/statistics.js';
import type { Schedule } from '../gearmonkey/features/schedules/schedule.js';
import type { Rights } from './api.js';
import type { Counted } from './counted.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { wholeJob } from './job-view.js';
import { JobReads, type Query } from './job-reads.js';
import { Redaction } from './redaction.js';
import { scheduleWords } from './schedule-words.js';
import { SharedReads } from './shared-reads.js';
import { dateOf } from './times.js';
import { unknownAmong, type ReadOverview } from './unknown-functions.js';
import { unlessRefused } from './unless-refused.js';
import { DashboardAccess, type Viewed, type ViewedFunction } from './viewed-instance.js';

const SUM_AGE_MS = 60_000;
const MOST_SUMS = 50;
/** Most sums that wait for one another. */
const MOST_SUMMING = 5;
const MOST_SCHEDULES = 200;
const NEXT = 5;
const MINUTE_MS = 60_000;
/** By minute each hour has sixty intervals to be read, added and sent. */
const MOST_BY_MINUTE_MS = 3 * 3_600_000;
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
  private lastSum: Promise<unknown> = Promise.resolve();
  /** How many sums are being read, or wait for that. */
  private summing = 0;

  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(Redaction) private readonly redaction: Redaction,
    @Inject(JobReads) private readonly jobs: JobReads,
    @Inject(SharedReads) private readonly reads: SharedReads,
  ) {}

  async overview(user: DashboardUser, query: Query) {
    const counted = this.access.counted(query['i']);
    const names = await this.namesFor(user, counted);
    const found = await this.reads.overviewOf(counted, names);
    return found.map((overview) => this.shown(user, counted.i, overview));
  }

  shown(user: DashboardUser, i: string, overview: ReadOverview) {
    const act = !overview.unknown && this.access.mayActAtAll(user, overview.fn, i);
    return { ...overview, act };
  }

  private async namesFor(user: DashboardUser, counted: Counted): Promise<string[]> {
    return (await this.reads.names(counted)).filter((fn) => this.access.mayView(user, fn, counted.i));
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
    return this.reads.statistics(this.access.viewed(user, query['i'], query['fn']), options);
  }

  async failures(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const { i, fn } = viewed;
    return this.reads.failures(viewed, (error) => this.redaction.error(error, { instance: i, fn }));
  }

  async limits(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const limits = await this.reads.limits(viewed);
    if (user.view === true) return limits;
    const { functions, unread } = await this.reads.sharing(viewed);
    // One that can't be read may share it.
    if ([...functions, ...unread].every((one) => this.access.mayView(user, one, viewed.i))) return limits;
    // Keys that only jobs of other functions have are theirs to see.
    const running = new Set((await this.reads.running(viewed)).map(({ key }) => key));
    return limits.filter(({ key, waiting }) => waiting > 0 || running.has(key));
  }

  async schedules(user: DashboardUser, query: Query) {
    const viewed = this.access.instance(query['i']);
    const fn = query['fn'] === undefined ? undefined : this.access.viewed(user, query['i'], query['fn']).fn;
    const all = await this.reads.schedules(viewed, fn);
    const shown = all.filter((schedule) => this.access.mayView(user, schedule.fn, viewed.i));
    return Promise.all(shown.slice(0, MOST_SCHEDULES).map((each) => this.schedule(user, viewed, each)));
  }

  async workers(user: DashboardUser, query: Query) {
    const counted = this.access.counted(query['i']);
    const viewed = this.access.instance(query['i']);
    const names =
      query['fn'] === undefined
        ? (await this.namesFor(user, counted)).slice(0, MOST_FUNCTIONS)
        : [this.access.viewed(user, viewed.i, query['fn']).fn];
    const functions = (await this.reads.overviewOf(counted, names)).flatMap(
      ({ fn, workers, running, refused }) => (refused === undefined ? [{ fn, workers, running }] : []),
    );
    const present = await Promise.all(names.map((fn) => this.reads.workers({ ...viewed, fn })));
    const busy = functions.filter(({ running = 0 }) => running > 0);
    const lists = await Promise.all(
      busy.map(async ({ fn }) => {
        const jobs = await this.reads.running({ ...viewed, fn });
        return jobs.map((job) => this.jobs.shownListed({ ...viewed, fn }, job));
      }),
    );
    return { workers: byWorker(names, present, Date.now()), functions, running: lists.flat() };
  }

  private async schedule(user: DashboardUser, { i, client }: Viewed, schedule: Schedule) {
    const { input: _input, app, problem, lastJob, ...rest } = schedule;
    const next = await nextOf(this.reads.next({ i, client }, schedule.id, NEXT), schedule);
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
  private async last(viewed: ViewedFunction, id: string) {
    const { fn } = viewed;
    const described = await unlessRefused(this.reads.described(viewed, id), () => undefined);
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
  private async sum(user: DashboardUser, { i, client }: Viewed, options: StatisticsOptions) {
    const names = (await this.namesFor(user, this.access.counted(i))).slice(0, MOST_FUNCTIONS);
    const key = JSON.stringify([i, options, names]);
    const known = this.sums.get(key);
    if (known && realNow() - known.at < SUM_AGE_MS) return known.value;
    if (this.summing >= MOST_SUMMING)
      throw new ApiFailure(503, 'BUSY', 'Sums of other spans are being read. Ask again in a moment.');
    this.summing += 1;
    // One after the other, function by function: each holds thousands of intervals for a moment.
    const value = this.lastSum.then(async () => {
      const sums = new Map<number, JobStatistics>();
      for (const fn of names) addTo(sums, await unlessRefused(client.statistics(fn, options), () => []));
      return [...sums.values()].toSorted((one, other) => one.at.getTime() - other.at.getTime());
    });
    this.lastSum = value.then(
      () => void (this.summing -= 1),
      () => void (this.summing -= 1),
    );
    this.sums.delete(key);
    this.sums.set(key, { at: realNow(), value });
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
    if (problem === undefined && !/SCHEDULE/.test(String((error as { code?: unknown }).code))) throw error;
    return [];
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

/** What is asked for, in whole minutes, so that those who ask in the same one share the answer. @throws ApiFailure 400 */
function periodOf({ by, from, to }: Query): StatisticsOptions {
  if (by !== undefined && by !== 'minute' && by !== 'hour' && by !== 'day')
    throw ApiFailure.invalid('by', 'minute, hour or day');
  const [first, last] = [dateOf('from', from), dateOf('to', to)];
  const span = (last?.getTime() ?? Date.now()) - (first?.getTime() ?? Infinity);
  if (by === 'minute' && span > MOST_BY_MINUTE_MS)
    throw ApiFailure.invalid('from', 'at most three hours before `to`, by minute');
  return {
    ...(by && { by }),
    ...(first && { from: wholeMinute(first) }),
    ...(last && { to: wholeMinute(last) }),
  };
}

function wholeMinute(time: Date): Date {
  return new Date(Math.floor(time.getTime() / MINUTE_MS) * MINUTE_MS);
}

/** Adds the statistics of a function, interval by interval. */
function addTo(sums: Map<number, JobStatistics>, all: readonly JobStatistics[]): void {
  for (const one of all) {
    const known = sums.get(one.at.getTime());
    sums.set(one.at.getTime(), known ? added(known, one) : one);
  }
}

function added(one: JobStatistics, other: JobStatistics): JobStatistics {
  return {
    at: one.at,
    done: one.done + other.done,
    failed: one.failed + other.failed,
    retried: one.retried + other.retried,
    stalled: one.stalled + other.stalled,
    wait: addedTimes(one.wait, other.wait),
    run: addedTimes(one.run, other.run),
  };
}

function addedTimes(one: TimeStatistics, other: TimeStatistics): TimeStatistics {
  const count = one.count + other.count;
  const counts = new Map(one.classes.map(({ most, count: times }) => [most, times]));
  for (const { most, count: times } of other.classes) counts.set(most, (counts.get(most) ?? 0) + times);
  const classes = [...counts].map(([most, times]) => ({ most, count: times }));
  return {
    count,
    mean: count === 0 ? 0 : (one.mean * one.count + other.mean * other.count) / count,
    classes: classes.toSorted((a, b) => a.most - b.most),
  };
}
