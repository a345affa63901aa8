import { Inject, Injectable } from '@nestjs/common';
import type { ShownError } from '../gearmonkey/features/views/failure-groups.js';
import type { DescribedJob, PresentWorker } from '../gearmonkey/features/views/view-store.js';
import type { ListedJob, QueueOverview } from '../job/job-views.js';
import type { JobStatistics, StatisticsOptions } from '../job/statistics.js';
import { RefusedError } from '../job/server-errors.js';
import type { Counted } from './counted.js';
import { Snapshots } from './snapshots.js';
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
  async overviewOf(counted: Counted, names: readonly string[]): Promise<QueueOverview[]> {
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

  /** At most 100. */
  async running({ i, client, fn }: ViewedFunction): Promise<readonly ListedJob[]> {
    const read = () => client.list(fn, { state: 'running', size: MOST_RUNNING });
    return (await this.snapshots.take(i, ['running', fn], read)).jobs;
  }

  workers({ i, client, fn }: ViewedFunction): Promise<readonly PresentWorker[]> {
    return this.snapshots.take(i, ['workers', fn], () => presentOf(client, fn));
  }

  statistics({ i, client, fn }: ViewedFunction, options: StatisticsOptions): Promise<JobStatistics[]> {
    return this.snapshots.take(i, ['statistics', fn, options], () => client.statistics(fn, options));
  }

  schedules({ i, client }: Viewed, fn: string | undefined) {
    return this.snapshots.take(i, ['schedules', fn], () => client.schedules.list(fn));
  }

  next({ i, client }: Viewed, schedule: string, count: number): Promise<Date[]> {
    return this.snapshots.take(i, ['next', schedule, count], () => client.schedules.next(schedule, count));
  }

  described({ i, client, fn }: ViewedFunction, id: string): Promise<DescribedJob | undefined> {
    return this.snapshots.take(i, ['job', fn, id], () => client.described(fn, id));
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
