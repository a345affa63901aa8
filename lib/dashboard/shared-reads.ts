import { Inject, Injectable } from '@nestjs/common';
import type { Schedule } from '../gearmonkey/features/schedules/schedule.js';
import type { ShownError } from '../gearmonkey/features/views/failure-groups.js';
import type { DescribedJob, PresentWorker } from '../gearmonkey/features/views/view-store.js';
import type { ListedJob } from '../job/job-views.js';
import type { JobStatistics, StatisticsOptions } from '../job/statistics.js';
import type { Counted } from './counted.js';
import { Snapshots } from './snapshots.js';
import type { ReadOverview } from './unknown-functions.js';
import { unlessRefused } from './unless-refused.js';
import type { Viewed, ViewedFunction } from './viewed-instance.js';

const MOST_RUNNING = 100;

/** What several views read of functions and jobs: once in two seconds for all pages, views and users. */
@Injectable()
export class SharedReads {
  constructor(@Inject(Snapshots) private readonly snapshots: Snapshots) {}

  names(counted: Counted): Promise<readonly string[]> {
    return this.snapshots.take(counted.i, ['names'], () => counted.functions());
  }

  /** One by one, since users may see different ones. */
  async overviewOf(counted: Counted, names: readonly string[]): Promise<ReadOverview[]> {
    const read = (fn: string) =>
      this.snapshots.take(counted.i, ['overview', fn], () => counted.overviewOf([fn]));
    return (await Promise.all(names.map(read))).flat();
  }

  /** @param shownOf the same for all users */
  failures({ i, client, fn }: ViewedFunction, shownOf: ShownError) {
    return this.snapshots.take(i, ['failures', fn], () => client.groupedFailures(fn, shownOf));
  }

  limits({ i, client, fn }: ViewedFunction) {
    return this.snapshots.take(i, ['limits', fn], () => client.limits(fn));
  }

  sharing({ i, client, fn }: ViewedFunction) {
    return this.snapshots.take(i, ['sharing', fn], () => client.sharing(fn));
  }

  /** At most 100; none if they can't be read. */
  async running({ i, client, fn }: ViewedFunction): Promise<readonly ListedJob[]> {
    const read = async () => (await client.list(fn, { state: 'running', size: MOST_RUNNING })).jobs;
    return this.snapshots.take(i, ['running', fn], () => unlessRefused(read(), () => []));
  }

  /** None if they can't be read. */
  workers({ i, client, fn }: ViewedFunction): Promise<readonly PresentWorker[]> {
    return this.snapshots.take(i, ['workers', fn], () => unlessRefused(client.workers(fn), () => []));
  }

  statistics({ i, client, fn }: ViewedFunction, options: StatisticsOptions): Promise<JobStatistics[]> {
    return this.snapshots.take(i, ['statistics', fn, options], () => client.statistics(fn, options));
  }

  schedules({ i, client }: Viewed, fn: string | undefined) {
    const read = () => (fn === undefined ? allSchedules(client) : client.schedules.list(fn));
    return this.snapshots.take(i, ['schedules', fn], read);
  }

  next({ i, client }: Viewed, schedule: string, count: number): Promise<Date[]> {
    return this.snapshots.take(i, ['next', schedule, count], () => client.schedules.next(schedule, count));
  }

  described({ i, client, fn }: ViewedFunction, id: string): Promise<DescribedJob | undefined> {
    return this.snapshots.take(i, ['job', fn, id], () => client.described(fn, id));
  }
}

/** Those of one function that can't be read do not hide the others. */
async function allSchedules(client: Viewed['client']): Promise<readonly Schedule[]> {
  return unlessRefused(client.schedules.list(), async () => {
    const readable = (await client.functions()).map((fn) =>
      unlessRefused(client.schedules.list(fn), () => []),
    );
    return (await Promise.all(readable)).flat();
  });
}
