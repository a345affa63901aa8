import { defined } from '../job/defined.js';
import type { JobState } from '../job/job-state.js';
import type { FunctionOverview } from '../job/job-views.js';
import { readEntry } from '../job/streams.js';
import { Job } from './job.js';
import {
  jobOptionsOf,
  runOptionsOf,
  type JobsOptions,
  type PriorityRule,
  type Untyped,
} from './job-options.js';
import {
  scheduleId,
  scheduleOf,
  schedulerOf,
  type JobSchedulerJson,
  type JobSchedulerTemplate,
  type RepeatOptions,
} from './job-schedulers.js';
import type { QueueParts } from './queue-parts.js';
import { unsupported } from './unsupported.js';

/** A job of `addBulk`. */
export interface BulkJob<Data = Untyped, Name extends string = string> {
  name: Name;
  data: Data;
  opts?: JobsOptions;
}

/** The states that counts and lists are asked for. */
type CountedState = 'waiting' | 'wait' | 'prioritized' | 'delayed' | 'active' | 'completed' | 'failed';
type Counts = Record<string, number>;

const LISTED: Readonly<Record<CountedState, readonly JobState[]>> = {
  waiting: ['waiting'],
  wait: ['waiting'],
  // All priorities are in one list of waiting jobs.
  prioritized: [],
  delayed: ['scheduled', 'retrying'],
  active: ['running'],
  completed: ['succeeded'],
  failed: ['failed', 'cancelled'],
};
const ALL: readonly CountedState[] = ['waiting', 'active', 'completed', 'failed', 'delayed', 'prioritized'];
const PAGE = 100;

/** A queue as BullMQ has it: jobs of one function, which has the queue's name. Inject it with `@InjectQueue(name)`. */
export class Queue<Data = Untyped, Result = Untyped, Name extends string = string> {
  readonly #parts: QueueParts;
  readonly name: string;
  readonly opts: { readonly defaultJobOptions?: JobsOptions };
  /** The `configKey` of its BullModule.forRoot. @internal */
  readonly instance: string;

  /** @internal */
  constructor(parts: QueueParts, instance: string, defaultJobOptions?: JobsOptions) {
    this.#parts = parts;
    this.name = parts.name;
    this.instance = instance;
    this.opts = defined({
      defaultJobOptions: defaultJobOptions && jobOptionsOf(`queue "${parts.name}"`, defaultJobOptions),
    });
    Object.defineProperty(this, 'instance', { enumerable: false });
  }

  /** What its jobs are made with. @internal */
  get priorities(): PriorityRule | undefined {
    return this.#parts.priorities;
  }

  /** Adds a job. @throws ConfigurationError, InvalidOptionError · as GearMonkeyClient.run */
  async add(name: Name, data?: Data, opts?: JobsOptions): Promise<Job<Data, Result, Name>> {
    const [job] = await this.#addAll([{ name, data, ...(opts && { opts }) }]);
    return job as Job<Data, Result, Name>;
  }

  /** Adds jobs. If one is invalid, none is added; during an outage some may be. */
  async addBulk(jobs: readonly BulkJob<Data, Name>[]): Promise<Job<Data, Result, Name>[]> {
    return this.#addAll(jobs);
  }

  /** A job by its id; undefined if there is none. */
  async getJob(id: string): Promise<Job<Data, Result, Name> | undefined> {
    const { client, name } = this.#parts;
    const job = /^\d{1,15}$/.test(String(id)) ? await client.get(name, id) : null;
    return job ? (Job.ofSnapshot(this.#parts, job) as Job<Data, Result, Name>) : undefined;
  }

  /** Jobs in some states, one state after the other. They are read one by one, so ask for few. */
  async getJobs(
    types: CountedState | readonly CountedState[] = ALL,
    start = 0,
    end = -1,
    asc = false,
  ): Promise<Job<Data, Result, Name>[]> {
    const states = [types].flat().flatMap((type) => LISTED[type as CountedState] ?? []);
    const most = end < 0 ? Infinity : end + 1;
    const ids: string[] = [];
    for (const state of states) ids.push(...(await this.#idsOf(state, most - ids.length, asc)));
    const jobs = await Promise.all(ids.slice(start, most).map((id) => this.getJob(id)));
    return jobs.filter((job) => job !== undefined);
  }

  getWaiting(start = 0, end = -1): Promise<Job<Data, Result, Name>[]> {
    return this.getJobs('waiting', start, end, true);
  }

  getActive(start = 0, end = -1): Promise<Job<Data, Result, Name>[]> {
    return this.getJobs('active', start, end, true);
  }

  getDelayed(start = 0, end = -1): Promise<Job<Data, Result, Name>[]> {
    return this.getJobs('delayed', start, end, true);
  }

  getCompleted(start = 0, end = -1): Promise<Job<Data, Result, Name>[]> {
    return this.getJobs('completed', start, end);
  }

  getFailed(start = 0, end = -1): Promise<Job<Data, Result, Name>[]> {
    return this.getJobs('failed', start, end);
  }

  /** How many jobs there are in each state; in those given, or in all. */
  async getJobCounts(...types: CountedState[]): Promise<Counts> {
    const [overview] = await this.#parts.client.overviewOf([this.name]);
    const chosen = types.length === 0 ? ALL : types;
    return Object.fromEntries(chosen.map((type) => [type, countOf(overview, type)]));
  }

  /** The sum of `getJobCounts`. */
  async getJobCountByTypes(...types: CountedState[]): Promise<number> {
    return Object.values(await this.getJobCounts(...types)).reduce((sum, count) => sum + count, 0);
  }

  /** How many jobs wait, for a worker or for their time. */
  count(): Promise<number> {
    return this.getJobCountByTypes('waiting', 'delayed');
  }

  getWaitingCount(): Promise<number> {
    return this.getJobCountByTypes('waiting');
  }

  getActiveCount(): Promise<number> {
    return this.getJobCountByTypes('active');
  }

  getDelayedCount(): Promise<number> {
    return this.getJobCountByTypes('delayed');
  }

  getCompletedCount(): Promise<number> {
    return this.getJobCountByTypes('completed');
  }

  getFailedCount(): Promise<number> {
    return this.getJobCountByTypes('failed');
  }

  /** The lines of a job's log. */
  async getJobLogs(id: string, start = 0, end = -1, asc = true): Promise<{ logs: string[]; count: number }> {
    const { client, name } = this.#parts;
    const lines: string[] = [];
    for (let from = 0, total = 1; from < total;) {
      const page = await client.streamed(name, id, 'log', from);
      for (const entry of page.entries) lines.push(lineOf(entry));
      from = page.next > from ? page.next : page.total;
      total = page.total;
    }
    const logs = lines.slice(start, end < 0 ? undefined : end + 1);
    return { logs: asc ? logs : logs.toReversed(), count: lines.length };
  }

  /** Pauses the queue for all processes. Running jobs go on. */
  pause(): Promise<void> {
    return this.#parts.client.pause(this.name);
  }

  resume(): Promise<void> {
    return this.#parts.client.resume(this.name);
  }

  isPaused(): Promise<boolean> {
    return this.#parts.client.isPaused(this.name);
  }

  /** Removes jobs that wait; with `delayed` also those that wait for their time. They end as errors. */
  async drain(delayed = false): Promise<void> {
    await this.#parts.client.drain(this.name, delayed ? {} : { states: ['waiting'] });
  }

  /** Deletes a job that waits or has failed; returns 1, or 0 if there is none. @throws ConfigurationError as `job.remove` */
  async remove(id: string): Promise<number> {
    const job = await this.getJob(id);
    await job?.remove();
    return job ? 1 : 0;
  }

  /** Puts all failed jobs back. */
  async retryJobs(): Promise<void> {
    await this.#parts.client.retry(this.name, { state: 'failed' }).done;
  }

  /**
   * Makes or changes a scheduler: a schedule with the id `queue:id`. Its jobs have `id` as their name unless the template names
   * one. Unlike in BullMQ, no job is returned: the server has none until its time.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async upsertJobScheduler(
    id: string,
    repeat: RepeatOptions,
    template: JobSchedulerTemplate<Data, Name> = {},
  ): Promise<void> {
    const merge = (opts: JobsOptions) =>
      jobOptionsOf(`upsertJobScheduler("${id}")`, this.opts.defaultJobOptions, opts);
    await this.#parts.client.recur(this.name, scheduleOf(this.name, id, repeat, template, merge));
  }

  async getJobScheduler(id: string): Promise<JobSchedulerJson<Data> | undefined> {
    const schedule = await this.#parts.client.schedules.get(scheduleId(this.name, id));
    return schedule ? schedulerOf(this.name, schedule) : undefined;
  }

  /** Schedulers in the order of their next jobs. */
  async getJobSchedulers(start = 0, end = -1, asc = false): Promise<JobSchedulerJson<Data>[]> {
    const schedules = await this.#parts.client.schedules.list(this.name);
    const found = schedules.flatMap((schedule) => schedulerOf(this.name, schedule) ?? []);
    const sorted = found.toSorted((one, other) => (one.next ?? Infinity) - (other.next ?? Infinity));
    return (asc ? sorted : sorted.toReversed()).slice(start, end < 0 ? undefined : end + 1);
  }

  /** Whether there was one. */
  removeJobScheduler(id: string): Promise<boolean> {
    return this.#parts.client.schedules.remove(scheduleId(this.name, id));
  }

  /** Does nothing: the app closes the connections that its queues share. */
  async close(): Promise<void> {}

  /** Does nothing: a queue connects when it is first used. */
  async waitUntilReady(): Promise<void> {}

  /** @throws ConfigurationError always */
  on(event: never): never {
    throw unsupported(
      `queue.on('${String(event)}')`,
      'Errors of connections are logged, and reject calls. For jobs use @OnStart, @OnProgress and @OnFinish.',
    );
  }

  /** Jobs of the same options in a row share a call. */
  async #addAll(
    jobs: readonly { name: Name; data?: Data; opts?: JobsOptions }[],
  ): Promise<Job<Data, Result, Name>[]> {
    const { client, name: queue, priorities } = this.#parts;
    const now = Date.now();
    const planned = jobs.map((given) => {
      const { name, data = {}, opts } = given;
      const checked = jobOptionsOf(`queue "${queue}"`, this.opts.defaultJobOptions, opts);
      const own = { ...checked, timestamp: checked.timestamp ?? now };
      return { name, data, own, run: runOptionsOf(queue, name, own, priorities) };
    });
    const runs: (typeof planned)[] = [];
    for (const job of planned) {
      const last = runs.at(-1);
      if (last?.[0] && JSON.stringify(last[0].run) === JSON.stringify(job.run)) last.push(job);
      else runs.push([job]);
    }
    const handles = await Promise.all(
      runs.map((run) =>
        client.runMany(
          queue,
          run.map(({ data }) => data),
          run[0]?.run,
        ),
      ),
    );
    return handles.flat().map(({ id }, index) => {
      const { name, data, own } = planned[index] as (typeof planned)[number];
      return new Job(this.#parts, { id, name, data: data as Data, opts: own, timestamp: own.timestamp });
    });
  }

  async #idsOf(state: JobState, most: number, asc: boolean): Promise<string[]> {
    const ids: string[] = [];
    for (let page: string | undefined = ''; page !== undefined && ids.length < most;) {
      const list = await this.#parts.client.list(
        this.name,
        defined({ state, order: asc ? 'oldest' : 'newest', size: PAGE, page: page || undefined } as const),
      );
      ids.push(...list.jobs.map(({ id }) => id));
      page = list.next;
    }
    return ids;
  }
}

function lineOf(entry: Uint8Array): string {
  return Buffer.from(readEntry(entry)?.value ?? entry).toString();
}

function countOf(overview: FunctionOverview | undefined, type: CountedState): number {
  if (!overview) return 0;
  const { waiting, scheduled, retrying, running, succeeded, failed, cancelled } = overview;
  const counts: Readonly<Record<CountedState, number>> = {
    waiting: waiting.high + waiting.normal + waiting.low,
    wait: waiting.high + waiting.normal + waiting.low,
    prioritized: 0,
    delayed: scheduled + retrying,
    active: running,
    completed: succeeded,
    failed: failed + cancelled,
  };
  return counts[type];
}
