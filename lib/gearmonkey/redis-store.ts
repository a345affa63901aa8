import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../batching/chunks.js';
import type { Payload } from '../job/codec.js';
import { MalformedJobError } from '../job/errors.js';
import type { ChannelHub } from '../redis/channel-hub.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { Enqueuer, type EnqueuerOptions } from './core/client/enqueuer.js';
import type {
  EnqueuedKey,
  JobListener,
  Placement,
  PresentWorker,
  ReadProgress,
} from './core/client/job-store.js';
import { RedisQuestions, Repeats } from './core/client/redis-questions.js';
import { StoreHooks, type StoreServer } from './core/client/store-server.js';
import { systemClock } from '../job/clock.js';
import {
  keysOf,
  type JobKey,
  type KeysOf,
  parseEvent,
  parseFlow,
  parseProgress,
  parseReply,
  parseStreamed,
  type FunctionKeys,
} from './core/wire/protocol.js';
import { explainToViewer } from './core/wire/viewer-rights.js';
import { FunctionIndex } from './core/wire/function-index.js';
import { explainToClient, type Explain, type ExplainMore } from './core/wire/rights.js';
import * as scripts from './core/wire/scripts.js';
import type { StoredJob } from './core/wire/stored-job.js';
import { FEATURES, type FeatureStores, type GearMonkeyStore } from './features/index.js';

/** Rights that features need. */
const explainMore: ExplainMore = async (commands, refusal, ...about) => {
  for (const { explain } of FEATURES) {
    const why = (await explain?.(commands, refusal, ...about)) ?? refusal;
    if (why !== refusal) return why;
  }
  return refusal;
};

const explainToAnyClient: Explain = (commands, refusal, fn, namesOf) => {
  const k = namesOf(fn);
  return explainToClient(commands, refusal, fn, k, () => explainMore(commands, refusal, fn, k));
};

/** More workers of a function are not shown one by one. */
const MAX_WORKERS = 1000;

/** What `expire` returns if the job has ended now, and others wait for it or it belongs to a flow. */
const EXPIRED_AWAITED = -2;

export interface RedisStoreOptions extends EnqueuerOptions {
  /** The key of all schedules' functions. @default 'schedules' */
  readonly scheduleIndex?: string;
  /** What `keysOf` puts before each function's name, and the key of the functions begins with. @default '' */
  readonly prefix?: string;
  /** Whose jobs these are, in events, metrics and spans. @default 'gearmonkey' */
  readonly system?: string;
  /** Gets messages for the operator. */
  readonly onProblem?: (message: string) => void;
}

/** What features ask of a server is under their names: it is added below. */
const FeaturedStore = class {} as new () => FeatureStores;

/** The client's side of GearMonkey on a Redis server. */
export class RedisStore extends FeaturedStore implements GearMonkeyStore {
  readonly system: string;
  readonly inbox = randomUUID();
  private readonly enqueuer: Enqueuer;
  private readonly questions: RedisQuestions;
  private readonly hooks = new StoreHooks();
  private readonly keysOf: KeysOf;
  /** '' is the server's time. */
  private readonly timeOf: () => scripts.Now;

  constructor(
    private readonly commands: RedisConnection,
    private readonly hub: ChannelHub,
    options: RedisStoreOptions,
  ) {
    super();
    const { clock, timeout, prefix, scheduleIndex, onProblem } = options;
    this.system = options.system ?? 'gearmonkey';
    this.keysOf = options.keysOf ?? keysOf;
    this.timeOf = () => clock?.now() ?? '';
    this.questions = new RedisQuestions(commands, this.keysOf, timeout, explainToAnyClient);
    const { keysOf: namesOf, questions, hooks } = this;
    const index = new FunctionIndex(namesOf, prefix, onProblem);
    const note = (functions: readonly string[]) => index.note(() => commands.ready(), functions);
    const enqueuer = new Enqueuer(commands, {
      ...options,
      onCreated: note,
      explainMore,
    });
    this.enqueuer = enqueuer;
    const server: StoreServer = {
      ...{
        commands,
        hub,
        questions,
        hooks,
        index,
        note,
        keysOf: namesOf,
        timeout,
        clock,
        prefix,
        scheduleIndex,
        onProblem,
      },
      now: this.timeOf,
      created: () => (clock ?? systemClock).now(),
      durable: (fn, key, keys) => enqueuer.durably(fn, key, keys),
    };
    for (const { name, store } of FEATURES) if (store) Object.assign(this, { [name]: store(server) });
  }

  get address(): string {
    return this.commands.address;
  }

  enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
    return this.enqueuer.add(fn, inputs, placement);
  }

  read(fn: string, ids: readonly string[], wanted?: () => boolean): Promise<(StoredJob | undefined)[]> {
    const { jobs } = this.keysOf(fn);
    const readAll = (redis: Redis | Cluster) =>
      Promise.all(
        ids.map(async (id) => toStored(await redis.hgetallBuffer(jobs + id).catch(wrongType(fn, id)))),
      );
    return this.questions.ask(fn, 'Reading jobs', readAll, { wanted });
  }

  readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]> {
    const { jobs } = this.keysOf(fn);
    return this.questions.ask(fn, 'Reading progress', (redis) =>
      Promise.all(ids.map((id) => readProgress(redis, jobs + id))),
    );
  }

  count(fn: string): Promise<string | undefined> {
    const { count, workers } = this.keysOf(fn);
    return this.questions.ask(fn, 'The roll call', async (redis) =>
      String((await scripts.presence.run(redis, [count, workers], '', '', 0, 0))[0]),
    );
  }

  now(fn: string, wanted?: () => boolean): Promise<number> {
    const ask = (redis: Redis | Cluster) => scripts.time.run(redis, [this.keysOf(fn).jobs], this.timeOf());
    return this.questions.ask(fn, 'Reading jobs', ask, { wanted });
  }

  async workers(fn: string): Promise<PresentWorker[]> {
    const { workers } = this.keysOf(fn);
    const read = (redis: Redis | Cluster) =>
      redis.zrangebyscore(workers, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_WORKERS);
    const flat = await this.questions.ask(fn, 'Reading the workers', read, {
      explain: explainToViewer,
    });
    return chunksOf(flat, 2).map(([id = '', until = '0']) => ({ id, until: Number(until) }));
  }

  async expire(fn: string, { id, mark }: JobKey, now?: number): Promise<number> {
    const { jobs, locks, channel } = this.keysOf(fn);
    const expire = (redis: Redis | Cluster) =>
      scripts.expire.run(redis, [jobs, locks, channel], now ?? '', id, mark ?? '');
    const repeats = new Repeats();
    const left = await this.questions.ask(fn, 'Expiring a job', repeats.of(expire));
    if (left !== EXPIRED_AWAITED && !(left === 0 && repeats.hasAny)) return left;
    await this.hooks.awaitedEnded(fn);
    return 0;
  }

  /** Does what follows from the end of a job that others wait for, or that belongs to a flow. */
  awaitedEnded(fn: string): Promise<void> {
    return this.hooks.awaitedEnded(fn);
  }

  async listen(fn: string, listener: JobListener): Promise<() => void> {
    const heard = hear(this.hub, this.keysOf(fn), { fn, inbox: this.inbox, listener });
    const stop = () => {
      for (const one of heard) one.then((unlisten) => unlisten()).catch(() => undefined);
    };
    try {
      await Promise.all(heard);
      return stop;
    } catch (error) {
      stop();
      throw await this.questions.failure(fn, `Listening to "${fn}"`, error);
    }
  }

  close(): Promise<void> {
    this.hub.close();
    this.commands.close();
    return Promise.resolve();
  }
}

/** Who listens to a function. */
interface Hearing {
  readonly fn: string;
  /** The name under which outputs are sent to it. */
  readonly inbox: string;
  readonly listener: JobListener;
}

/** Subscribes to a function's channels. Each promise resolves with a function that unsubscribes. */
function hear(
  hub: ChannelHub,
  { channel, progress, replies }: FunctionKeys,
  { fn, inbox, listener }: Hearing,
): Promise<() => void>[] {
  return [
    hub.listen(channel, {
      message: (text) => {
        const event = parseEvent(text);
        if (event) listener.event({ ...event, fn });
      },
      resync: () => listener.resync(),
    }),
    hub.listen(progress, {
      message: (text) => {
        const flow = parseFlow(text);
        if (flow !== undefined) return listener.flowed?.(flow);
        const streamed = parseStreamed(text);
        if (streamed) return listener.streamed?.(streamed, streamed.kind);
        const update = parseProgress(text);
        if (!update) return;
        const { mark, ...progress } = update;
        listener.progress({ ...progress, fn }, mark);
      },
    }),
    hub.listen(replies + inbox, {
      message: (text) => {
        const reply = parseReply(text);
        if (reply) listener.replied?.(reply, reply.output);
      },
    }),
  ];
}

/** Reads a job's progress from its hash. */
export async function readProgress(redis: Redis | Cluster, key: string): Promise<ReadProgress> {
  return toProgress(await redis.hmget(key, 'status', 'status:dividend', 'status:divisor', 'mark'));
}

/** A job's hash; undefined if there is none. */
export function toStored(hash: Record<string, Buffer>): StoredJob | undefined {
  const fields = Object.entries(hash);
  return fields.length === 0 ? undefined : new Map(fields);
}

function toProgress([status, dividend, divisor, mark]: (string | null | undefined)[]): ReadProgress {
  const [parts, all] = [Number(dividend ?? Number.NaN), Number(divisor ?? Number.NaN)];
  const progress = { dividend: parts, divisor: all, mark: Number(mark ?? 0) };
  const isOver = status === null || status === 'success' || status === 'error';
  return { isOver, progress: Number.isNaN(parts) || Number.isNaN(all) ? undefined : progress };
}

/** Explains that a job's key has another type. @throws MalformedJobError */
function wrongType(fn: string, id: string) {
  return (error: unknown): never => {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) {
      throw new MalformedJobError(fn, id, 'its key does not hold a hash');
    }
    throw error;
  };
}
