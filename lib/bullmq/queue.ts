import { defined } from '../job/defined.js';
import { InvalidOptionError } from '../job/errors.js';
import { optionNames } from '../job/known-options.js';
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
import { checkBullOptions, emitterMethods, refuseMethods, unsupported } from './unsupported.js';

/** A job of `addBulk`. */
export interface BulkJob<Data = Untyped, Name extends string = string> {
  name: Name;
  data: Data;
  opts?: JobsOptions;
}

/** The states that counts and lists are asked for. */
type CountedState =
  'waiting' | 'wait' | 'paused' | 'prioritized' | 'delayed' | 'active' | 'completed' | 'failed';
type Counts = Record<string, number>;

const LISTED: Readonly<Record<CountedState, readonly JobState[]>> = {
  waiting: ['waiting'],
  wait: ['waiting'],
  // As in BullMQ 6, jobs of a paused queue are waiting.
  paused: [],
  // All priorities are in one list of waiting jobs.
  prioritized: [],
  // In this order: a retry whose time comes meanwhile counts as scheduled.
  delayed: ['retrying', 'scheduled'],
  active: ['running'],
  completed: ['succeeded'],
  failed: ['failed', 'cancelled'],
};
const ALL: readonly CountedState[] = ['waiting', 'active', 'completed', 'failed', 'delayed', 'prioritized'];
const PAGE = 100;
// `count` is how many a step moves there, and all are moved.
const RETRY = optionNames<{ state?: 'failed'; count?: number }>({ state: true, count: true });
const RETRY_REMEDIES = { timestamp: 'Use `before` of GearMonkeyClient.retry.' } as const;

/** A queue as BullMQ has it: jobs of one function, which has the queue's name. Inject it with `@InjectQueue(name)`. */
export class Queue<Data = Untyped, Result = Untyped, Name extends string = string> {
  readonly #parts: QueueParts;
  readonly name: string;
  readonly opts: { readonly defaultJobOptions?: JobsOptions };
  /** The `configKey` of its BullModule.forRoot. @internal */
  readonly instance: string;

  /** @internal @throws ConfigurationError for a constructor's call of BullMQ */
  constructor(parts: QueueParts, instance: string, defaultJobOptions?: JobsOptions) {
    // The published declarations have no constructor.
    if (typeof (parts as Partial<QueueParts> | undefined)?.client !== 'object')
      throw unsupported('new Queue()', 'Use BullModule.registerQueue, and inject it with @InjectQueue.');
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

  /**
   * Jobs in some states, one state after the other: of each those from `start` to `end`, which count from its end if they are
   * negative. They are read one by one, so ask for few.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async getJobs(
    types: CountedState | readonly CountedState[] = ALL,
    start = 0,
    end = -1,
    asc = false,
  ): Promise<Job<Data, Result, Name>[]> {
    const ids = new Set<string>();
    for (const type of [types].flat() as CountedState[])
      for (const id of await this.#idsOf(type, start, end, asc)) ids.add(id);
    const jobs = await Promise.all([...ids].map((id) => this.getJob(id)));
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
    for (const type of chosen) listedOf(type);
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

  /** Puts all failed jobs back. Their attempts begin anew. @throws ConfigurationError for other options */
  async retryJobs(options: { state?: 'failed'; count?: number } = {}): Promise<void> {
    const { state = 'failed' } = checkBullOptions('retryJobs', options, RETRY, RETRY_REMEDIES);
    if (state !== 'failed')
      throw unsupported(`retryJobs({ state: '${String(state)}' })`, 'Only failed jobs are retried.');
    await this.#parts.client.retry(this.name, { state }).done;
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
    const { priorities } = this.#parts;
    await this.#parts.client.recur(
      this.name,
      scheduleOf(this.name, id, repeat, template, { merge, priorities }),
    );
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
    throw unsupported(`queue.on('${String(event)}')`, EVENTS);
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
    const handles = await client.runEach(
      queue,
      runs.map((run) => ({ inputs: run.map(({ data }) => data), options: run[0]?.run ?? {} })),
    );
    return handles.map(({ id }, index) => {
      const { name, data, own } = planned[index] as (typeof planned)[number];
      return new Job(this.#parts, { id, name, data: data as Data, opts: own, timestamp: own.timestamp });
    });
  }

  async #idsOf(type: CountedState, start: number, end: number, asc: boolean): Promise<string[]> {
    const most = start < 0 || end < 0 ? Infinity : end + 1;
    const times = new Map<string, number>();
    // One after the other: what goes from one to the next meanwhile is in one of them.
    const states = listedOf(type);
    for (const state of states)
      for (const { id, time } of await this.#inState(state, most, asc)) times.set(id, time);
    const found = [...times];
    if (states.length > 1) found.sort(([, one], [, other]) => (asc ? one - other : other - one));
    return found.slice(start, end < 0 ? found.length + end + 1 : end + 1).map(([id]) => id);
  }

  async #inState(state: JobState, most: number, asc: boolean): Promise<{ id: string; time: number }[]> {
    const found: { id: string; time: number }[] = [];
    for (let page: string | undefined = ''; page !== undefined && found.length < most;) {
      const list = await this.#parts.client.list(
        this.name,
        defined({ state, order: asc ? 'oldest' : 'newest', size: PAGE, page: page || undefined } as const),
      );
      for (const { id, times } of list.jobs)
        found.push({ id, time: (times.finished ?? times.scheduled)?.getTime() ?? 0 });
      page = list.next;
    }
    return found;
  }
}

const EVENTS =
  'Errors of connections are logged, and reject calls. For jobs use @OnStart, @OnProgress and @OnFinish.';
const FLOWS = 'Use GearMonkeyClient.flow (docs/guides/flows.md).';
const LIMITS = 'Use the option `limiter` of @Processor, or `limit` of @Worker (docs/guides/limits.md).';
const UNIQUE = 'Use `unique` of GearMonkeyClient.run (docs/guides/unique.md).';
const FIGURES = 'Use GearMonkeyClient.statistics, or nestjs-gearmonkey/metrics.';
const SCHEDULERS = 'Use upsertJobScheduler, getJobSchedulers and removeJobScheduler.';

refuseMethods(Queue.prototype, 'queue', {
  ...emitterMethods(EVENTS),
  clean:
    'Say with `removeOnComplete` and `removeOnFail` how long ended jobs are kept; GearMonkeyClient.discard deletes failed ones, and queue.drain those that wait.',
  obliterate: 'Use queue.drain(true), and GearMonkeyClient.discard for failed jobs.',
  promoteJobs: 'Call job.promote for each of queue.getDelayed().',
  getJobState: 'Use (await queue.getJob(id))?.getState().',
  getPrioritized: 'Use getWaiting: all priorities are in one list.',
  getPrioritizedCount: 'Use getWaitingCount: all priorities are in one list.',
  getCountsPerPriority: 'Use GearMonkeyClient.overview, whose `waiting` tells the three priorities apart.',
  getWaitingChildren: FLOWS,
  getWaitingChildrenCount: FLOWS,
  getDependencies: FLOWS,
  getWorkers: 'Use GearMonkeyClient.overview, whose `workers` says how many there are.',
  getWorkersCount: 'Use GearMonkeyClient.overview, whose `workers` says how many there are.',
  getQueueEvents: 'Leave it out: there are no event streams.',
  trimEvents: 'Leave it out: there are no event streams.',
  getMetrics: FIGURES,
  exportPrometheusMetrics: FIGURES,
  recordJobCountsMetric: FIGURES,
  setGlobalConcurrency: 'Use `limit` of @Worker (docs/guides/limits.md).',
  getGlobalConcurrency: 'Use `limit` of @Worker (docs/guides/limits.md).',
  removeGlobalConcurrency: 'Use `limit` of @Worker (docs/guides/limits.md).',
  isMaxed: 'Use `limit` of @Worker (docs/guides/limits.md).',
  setGlobalRateLimit: LIMITS,
  getGlobalRateLimit: LIMITS,
  removeGlobalRateLimit: LIMITS,
  getRateLimitTtl: LIMITS,
  rateLimit: LIMITS,
  removeRateLimitKey: LIMITS,
  getDeduplicationJobId: 'Use GearMonkeyClient.find with `key`.',
  removeDeduplicationKey: UNIQUE,
  getDebounceJobId: 'Use GearMonkeyClient.find with `key`.',
  removeDebounceKey: UNIQUE,
  addJobLog: 'Call job.log in its processor.',
  updateJobProgress: 'Call job.updateProgress in its processor.',
  getJobSchedulersCount: 'Use (await queue.getJobSchedulers()).length.',
  addJobScheduler: SCHEDULERS,
  getRepeatableJobs: SCHEDULERS,
  removeRepeatable: SCHEDULERS,
  removeRepeatableByKey: SCHEDULERS,
  getMeta: 'Use queue.isPaused().',
  getVersion: 'Leave it out.',
  getRanges: 'Use getJobs.',
  removeOrphanedJobs: 'Leave it out.',
  removeDeprecatedPriorityKey: 'Leave it out.',
  disconnect: 'Leave it out: the app closes the connections that its queues share.',
});

/** @throws ConfigurationError, InvalidOptionError */
function listedOf(type: CountedState): readonly JobState[] {
  if (Object.hasOwn(LISTED, type)) return LISTED[type];
  if ((type as string) === 'waiting-children')
    throw unsupported(
      "list or number of jobs that are 'waiting-children'",
      'job.getState() tells it of one, and the dashboard shows flows.',
    );
  throw new InvalidOptionError('types', type, `states: ${Object.keys(LISTED).join(', ')}`);
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
    paused: 0,
    prioritized: 0,
    delayed: scheduled + retrying,
    active: running,
    completed: succeeded,
    failed: failed + cancelled,
  };
  return counts[type];
}
