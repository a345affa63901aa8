import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { withDeadline } from '../../../job/deadline.js';
import { defined } from '../../../job/defined.js';
import { messageOf } from '../../../job/errors.js';
import { isFinal } from '../../../job/job-state.js';
import type { FunctionOverview } from '../../../job/job-views.js';
import { ConnectionError } from '../../../job/server-errors.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { NO_RIGHT } from '../../../redis/rights.js';
import type { FunctionIndex } from './function-index.js';
import { sharedLimitIn } from '../limits/limit-rules.js';
import { explainToOperator } from '../../core/wire/rights.js';
import { time } from '../../core/wire/scripts.js';
import { explainToViewer } from './view-rights.js';
import { ENDED_LISTS, LISTED_MS, type KeysOf } from '../../core/wire/protocol.js';
import { findJobs, listJobs, mend, overview, readJob, readPayload } from './view-scripts.js';
import type { QuestionOptions } from '../../core/client/redis-questions.js';
import type { Sharing } from '../limits/limit-store.js';
import type {
  DescribedJob,
  EndedJob,
  FindQuery,
  ListQuery,
  MendVerb,
  PayloadField,
  PayloadPart,
  PresentWorker,
  ViewedJobs,
  ViewStore,
} from './view-store.js';

/** How many functions are counted at a time. */
const AT_ONCE = 50;
const UNREAD = Symbol('unread');
/** How long a download from the server may take. */
const DOWNLOAD_MS = 30_000;
/** More workers of a function are not shown one by one. */
const MAX_WORKERS = 1000;

export interface RedisViewsOptions {
  readonly index: FunctionIndex;
  readonly keysOf: KeysOf;
  readonly now: () => number | '';
  readonly commands: Pick<RedisConnection, 'ready' | 'another'>;
  ask<T>(
    fn: string,
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    options: QuestionOptions,
  ): Promise<T>;
}

/** What a Redis server tells of its functions and jobs. */
export class RedisViews implements ViewStore {
  constructor(private readonly options: RedisViewsOptions) {}

  /** Notes functions that this client uses. */
  note(functions: readonly string[]): void {
    this.options.index.note(() => this.options.commands.ready(), functions);
  }

  functions(): Promise<string[]> {
    return this.options.ask('*', 'Reading the functions', (redis) => this.options.index.read(redis), {
      explain: explainToViewer,
    });
  }

  now(fn: string, wanted?: () => boolean): Promise<number> {
    const ask = (redis: Redis | Cluster) =>
      time.run(redis, [this.options.keysOf(fn).jobs], this.options.now());
    return this.options.ask(fn, 'Reading jobs', ask, { wanted });
  }

  async overview(functions: readonly string[]): Promise<FunctionOverview[]> {
    const found: FunctionOverview[] = [];
    for (const some of chunksOf(functions, AT_ONCE))
      found.push(...(await Promise.all(some.map((fn) => this.overviewOf(fn)))));
    return found;
  }

  list(fn: string, { state, newest, size, page, payloads }: ListQuery): Promise<ViewedJobs> {
    const k = this.options.keysOf(fn);
    const ended = isFinal(state) ? state : undefined;
    const status = ended === undefined ? '' : ended === 'succeeded' ? 'success' : 'error';
    const list = k.ended + ENDED_LISTS[ended ?? 'failed'];
    const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying, list];
    const kind = isFinal(state) ? 'ended' : state;
    const order = newest ? 'newest' : 'oldest';
    const read = (redis: Redis | Cluster) =>
      listJobs.run(
        redis,
        keys,
        this.options.now(),
        LISTED_MS,
        kind,
        order,
        size,
        page,
        payloads ? 1 : 0,
        status,
      );
    return this.options.ask(fn, 'Listing jobs', read, { explain: explainToViewer });
  }

  find(fn: string, { by, text, newest, size, page, payloads }: FindQuery): Promise<ViewedJobs> {
    const k = this.options.keysOf(fn);
    const keys = [k.jobs, k.control, k.scheduled, k.retrying, `${k.ended}cancelled`, k.tags, k.unique];
    const order = newest ? 'newest' : 'oldest';
    const read = (redis: Redis | Cluster) =>
      findJobs.run(redis, keys, this.options.now(), by, text, order, size, page, payloads ? 1 : 0);
    return this.options.ask(fn, 'Finding jobs', read, { explain: explainToViewer });
  }

  describe(fn: string, id: string, most: number): Promise<DescribedJob | undefined> {
    const { jobs } = this.options.keysOf(fn);
    const read = (redis: Redis | Cluster) => readJob.run(redis, [jobs], id, most);
    return this.options.ask(fn, 'Reading a job', read, { explain: explainToViewer });
  }

  payload(fn: string, id: string, field: PayloadField, most: number): Promise<PayloadPart | undefined> {
    const { jobs } = this.options.keysOf(fn);
    const read = (redis: Redis | Cluster) => readPayload.run(redis, [jobs], id, field, most);
    return this.options.ask(fn, 'Reading a payload', read, { explain: explainToViewer });
  }

  async wholePayload(fn: string, id: string, field: PayloadField): Promise<Buffer | undefined> {
    const own = this.options.commands.another('download');
    try {
      const redis = await own.ready(DOWNLOAD_MS);
      const read = redis.hmgetBuffer(this.options.keysOf(fn).jobs + id, field);
      const late = () => new ConnectionError('A download', `no answer within ${DOWNLOAD_MS} ms`);
      return (await withDeadline(read, DOWNLOAD_MS, late))[0] ?? undefined;
    } finally {
      own.close();
    }
  }

  async sharing(fn: string, known: readonly string[]): Promise<Sharing> {
    const read = async (redis: Redis | Cluster) => {
      const limitOf = async (one: string) =>
        sharedLimitIn((await redis.hmget(this.options.keysOf(one).control, 'limit'))[0]);
      const shared = await limitOf(fn);
      if (shared === undefined) return { functions: [fn], unread: [] };
      const found = { functions: [fn], unread: [] as string[] };
      const others = new Set([...known, ...(await this.options.index.read(redis, -1))]);
      others.delete(fn);
      for (const some of chunksOf([...others], AT_ONCE)) {
        const limits = await Promise.all(some.map((one) => limitOf(one).catch(refusedAsUnread)));
        found.functions.push(...some.filter((_, index) => limits[index] === shared));
        found.unread.push(...some.filter((_, index) => limits[index] === UNREAD));
      }
      return found;
    };
    return this.options.ask(fn, 'Reading who shares the limit', read, { explain: explainToViewer });
  }

  async workers(fn: string): Promise<PresentWorker[]> {
    const { workers } = this.options.keysOf(fn);
    const read = (redis: Redis | Cluster) =>
      redis.zrangebyscore(workers, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_WORKERS);
    const flat = await this.options.ask(fn, 'Reading the workers', read, { explain: explainToViewer });
    return chunksOf(flat, 2).map(([id = '', until = '0']) => ({ id, until: Number(until) }));
  }

  mend(fn: string, verb: MendVerb, jobs: readonly EndedJob[]): Promise<number> {
    const k = this.options.keysOf(fn);
    const keys = [k.jobs, k.locks, k.channel, k.control, k.high, k.normal, k.low, k.wake];
    keys.push(`${k.ended}failed`, `${k.ended}cancelled`, k.scheduled);
    // The same name when the question is asked again.
    const name = randomUUID();
    const chosen = jobs.flatMap(({ id, finished }) => [id, finished]);
    const run = (redis: Redis | Cluster) => mend.run(redis, keys, this.options.now(), verb, name, chosen);
    return this.options.ask(fn, `A ${verb} of jobs`, run, { explain: explainToOperator });
  }

  private async overviewOf(fn: string): Promise<FunctionOverview> {
    const k = this.options.keysOf(fn);
    const ended = Object.values(ENDED_LISTS).map((list) => k.ended + list);
    const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying, ...ended];
    keys.push(k.count, k.workers);
    const read = (redis: Redis | Cluster) => overview.run(redis, keys, this.options.now(), LISTED_MS);
    return toOverview(fn, await this.options.ask(fn, 'An overview', read, { explain: explainToViewer }));
  }
}

/** Of functions to which this program has no rights nothing can be told. */
function refusedAsUnread(error: unknown): typeof UNREAD {
  if (NO_RIGHT.test(messageOf(error))) return UNREAD;
  throw error;
}

/** The texts are in the order of the script. */
function toOverview(fn: string, texts: readonly string[]): FunctionOverview {
  const [high = 0, normal = 0, low = 0, scheduled = 0, retrying = 0, running = 0, ...rest] =
    texts.map(Number);
  const [succeeded = 0, failed = 0, cancelled = 0, limitsFull = 0, paused = 0, oldest = 0, workers = 0] =
    rest;
  return defined({
    fn,
    waiting: { high, normal, low },
    ...{ scheduled, retrying, running, succeeded, failed, cancelled, limitsFull },
    paused: paused > 0,
    oldest: oldest > 0 ? new Date(oldest) : undefined,
    workers,
  });
}
