import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { systemClock } from '../job/clock.js';
import type { Payload } from '../job/codec.js';
import type { Counts } from '../job/statistics.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { ChannelHub } from '../redis/channel-hub.js';
import { Enqueuer, type EnqueuerOptions } from './core/client/enqueuer.js';
import { RedisSchedules } from './features/schedules/redis-schedules.js';
import type { EnqueuedKey, JobListener, Placement, ReadProgress } from './core/client/job-store.js';
import type { EditStore } from './features/edits/edit-store.js';
import { RedisEdits } from './features/edits/redis-edits.js';
import type { GearMonkeyStore } from './features/index.js';
import type { LimitStore } from './features/limits/limit-store.js';
import { RedisLimits } from './features/limits/redis-limits.js';
import { RedisFlows } from './features/flows/redis-flows.js';
import { RedisQuestions } from './core/client/redis-questions.js';
import { EXPIRED_IN_FLOW, RedisRecordings } from './features/records/redis-recordings.js';
import { RedisViews } from './features/views/redis-views.js';
import { FEATURES } from './features/index.js';
import { explainOfLimits } from './features/limits/limit-rights.js';
import { asksOfSchedules } from './features/schedules/schedule-rights.js';
import { explainToClient, explainToOperator, type Explain } from './core/wire/rights.js';
import { FunctionIndex } from './features/views/function-index.js';
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
import * as scripts from './core/wire/scripts.js';
import { readStatistics } from './features/views/statistics.js';
import type { StoredJob } from './core/wire/stored-job.js';
import { MalformedJobError } from '../job/errors.js';

/** The features' ways to create jobs. */
const CREATE_WAYS = FEATURES.flatMap(({ create }) => create ?? []);

const explainToAnyClient: Explain = (commands, refusal, fn, namesOf) => {
  const k = namesOf(fn);
  const more = () => explainOfLimits(commands, refusal, fn, k);
  return explainToClient(commands, refusal, fn, k, { more });
};

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

/** The client's side of GearMonkey on a Redis server. */
export class RedisStore implements GearMonkeyStore {
  readonly system: string;
  readonly inbox = randomUUID();
  readonly schedules: RedisSchedules;
  readonly views: RedisViews;
  readonly flows: RedisFlows;
  private readonly enqueuer: Enqueuer;
  private readonly questions: RedisQuestions;
  private readonly recordings: RedisRecordings;
  private readonly keysOf: KeysOf;
  private readonly edits: RedisEdits;
  private readonly ofLimits: RedisLimits;

  constructor(
    private readonly commands: RedisConnection,
    private readonly hub: ChannelHub,
    options: RedisStoreOptions,
  ) {
    this.system = options.system ?? 'gearmonkey';
    this.keysOf = options.keysOf ?? keysOf;
    /** '' is the server's time. */
    const time = () => options.clock?.now() ?? '';
    this.questions = new RedisQuestions(commands, this.keysOf, options.timeout, explainToAnyClient);
    this.recordings = new RedisRecordings(this.questions, this.keysOf, time);
    this.ofLimits = new RedisLimits(this.questions, this.keysOf, time);
    this.edits = new RedisEdits({
      ...{ questions: this.questions, keysOf: this.keysOf, hub, clock: options.clock },
      settleFlows: (fn) => this.flows.settleSoon(fn),
    });
    this.views = new RedisViews({
      index: new FunctionIndex(this.keysOf, options.prefix, options.onProblem),
      ...{ keysOf: this.keysOf, now: time, commands },
      ask: (...question) => this.questions.ask(...question),
    });
    const onCreated = (fn: string) => this.views.note([fn]);
    this.enqueuer = new Enqueuer(commands, {
      ...options,
      onCreated,
      ways: CREATE_WAYS,
      explainMore: explainOfLimits,
    });
    this.flows = new RedisFlows({
      questions: this.questions,
      keysOf: this.keysOf,
      prefix: options.prefix,
      now: time,
      created: () => (options.clock ?? systemClock).now(),
      timeout: options.timeout,
      durable: (fn, key, keys) => this.enqueuer.durably(fn, key, keys),
      note: (functions) => this.views.note(functions),
    });
    const { clock, scheduleIndex: index } = options;
    const now = clock && (() => clock.now());
    this.schedules = new RedisSchedules({
      keysOf: this.keysOf,
      ask: asksOfSchedules(this.questions, commands, this.keysOf, index),
      now,
      index,
    });
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

  readStream: GearMonkeyStore['readStream'] = (...read) => this.recordings.readStream(...read);

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

  cancel(...cancelled: Parameters<EditStore['cancel']>): ReturnType<EditStore['cancel']> {
    return this.edits.cancel(...cancelled);
  }

  update(...changed: Parameters<EditStore['update']>): ReturnType<EditStore['update']> {
    return this.edits.update(...changed);
  }

  lastId(fn: string): Promise<number> {
    return this.edits.lastId(fn);
  }

  drain(...drained: Parameters<EditStore['drain']>): ReturnType<EditStore['drain']> {
    return this.edits.drain(...drained);
  }

  pause(fn: string, paused: boolean): Promise<void> {
    return this.edits.pause(fn, paused);
  }

  isPaused(fn: string, wanted?: () => boolean): Promise<boolean> {
    return this.edits.isPaused(fn, wanted);
  }

  listenToControl(fn: string, changed: () => void): Promise<() => void> {
    return this.edits.listenToControl(fn, changed);
  }

  limits(...read: Parameters<LimitStore['limits']>): ReturnType<LimitStore['limits']> {
    return this.ofLimits.limits(...read);
  }

  setLimit(...set: Parameters<LimitStore['setLimit']>): ReturnType<LimitStore['setLimit']> {
    return this.ofLimits.setLimit(...set);
  }

  async expire(fn: string, key: JobKey, now?: number): Promise<number> {
    const left = await this.recordings.expire(fn, key, now);
    if (left !== EXPIRED_IN_FLOW) return left;
    await this.flows.settleSoon(fn);
    return 0;
  }

  signal: GearMonkeyStore['signal'] = (...signal) => this.recordings.signal(...signal);

  statistics(fn: string, hours: readonly number[], byMinute: boolean): Promise<Counts[]> {
    const read = (redis: Redis | Cluster) =>
      readStatistics(redis, this.keysOf(fn).statistics, hours, byMinute);
    return this.questions.ask(fn, 'Reading statistics', read, { explain: explainToOperator });
  }

  mend: GearMonkeyStore['mend'] = (fn, verb, jobs) => this.views.mend(fn, verb, jobs);

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
