import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { systemClock, type Clock } from '../job/clock.js';
import type { Payload } from '../job/codec.js';
import { LimitUnknownError } from '../job/limit-errors.js';
import type { LimitState } from '../job/limit.js';
import type { Counts } from '../job/statistics.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { ChannelHub } from '../redis/channel-hub.js';
import { Enqueuer, type EnqueuerOptions } from './core/client/enqueuer.js';
import { RedisSchedules } from './features/schedules/redis-schedules.js';
import type { EnqueuedKey, JobListener, Placement, ReadProgress } from './core/client/job-store.js';
import type { Changes, DrainedStep, DrainStep } from './features/edits/edit-store.js';
import type { GearMonkeyStore } from './features/index.js';
import type { LimitsQuery } from './features/limits/limit-store.js';
import { dueText } from './core/client/placement.js';
import { RedisFlows } from './features/flows/redis-flows.js';
import { RedisQuestions } from './core/client/redis-questions.js';
import { EXPIRED_IN_FLOW, RedisRecordings } from './features/records/redis-recordings.js';
import { RedisViews } from './features/views/redis-views.js';
import { fullFirst, numbersText, toLimitState, type Numbers } from './features/limits/limit-rules.js';
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
import * as limitScripts from './features/limits/limit-scripts.js';
import * as scripts from './core/wire/scripts.js';
import { readStatistics } from './features/views/statistics.js';
import type { StoredJob } from './core/wire/stored-job.js';
import { MalformedJobError } from '../job/errors.js';

/** Most keys of a limit that one call reads: more would block the server. */
const MAX_LIMIT_KEYS = 1000;
/** In the order of the script's keys. */
const QUEUES = ['scheduled', 'high', 'normal', 'low'] as const;
/** The number of the first of these keys, counted from 1. */
const FIRST_QUEUE = 2;

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
  /** Gets messages for the operator. */
  readonly onProblem?: (message: string) => void;
}

/** The client's side of GearMonkey on a Redis server. */
export class RedisStore implements GearMonkeyStore {
  readonly system = 'gearmonkey';
  readonly inbox = randomUUID();
  readonly schedules: RedisSchedules;
  readonly views: RedisViews;
  readonly flows: RedisFlows;
  private readonly enqueuer: Enqueuer;
  private readonly questions: RedisQuestions;
  private readonly recordings: RedisRecordings;
  private readonly keysOf: KeysOf;
  private readonly testClock: Pick<Clock, 'now'> | undefined;
  /** '' is the server's time. */
  private readonly now: () => number | '';

  constructor(
    private readonly commands: RedisConnection,
    private readonly hub: ChannelHub,
    options: RedisStoreOptions,
  ) {
    this.keysOf = options.keysOf ?? keysOf;
    this.testClock = options.clock;
    this.now = () => options.clock?.now() ?? '';
    this.questions = new RedisQuestions(commands, this.keysOf, options.timeout, explainToAnyClient);
    this.recordings = new RedisRecordings(this.questions, this.keysOf, this.now);
    this.views = new RedisViews({
      index: new FunctionIndex(this.keysOf, options.prefix, options.onProblem),
      ...{ keysOf: this.keysOf, now: this.now, commands },
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
      now: this.now,
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

  async cancel(fn: string, key: JobKey): Promise<scripts.Cancellation> {
    const came = await this.recordings.cancel(fn, key);
    if (came !== 'cancelled-in-flow') return came;
    await this.flows.settleSoon(fn);
    return 'cancelled';
  }

  async expire(fn: string, key: JobKey, now?: number): Promise<number> {
    const left = await this.recordings.expire(fn, key, now);
    if (left !== EXPIRED_IN_FLOW) return left;
    await this.flows.settleSoon(fn);
    return 0;
  }

  async limits(fn: string, { key, size }: LimitsQuery): Promise<LimitState[]> {
    const { control, limits, jobs, wake } = this.keysOf(fn);
    const one = key === undefined ? 0 : 1;
    const keys = [control, limits, jobs, wake];
    const found = await this.questions.ask(fn, 'Reading limits', (redis) =>
      limitScripts.readLimits.run(redis, keys, this.now(), MAX_LIMIT_KEYS, one, key ?? ''),
    );
    return (found ?? []).map(toLimitState).sort(fullFirst).slice(0, size);
  }

  async setLimit(fn: string, numbers: Numbers | undefined): Promise<void> {
    const text = numbers ? numbersText(numbers) : '';
    const ask: Parameters<typeof limitScripts.changeLimit>[0] = (question) =>
      this.questions.ask(fn, 'Changing the limit', question);
    const isKnown = await limitScripts.changeLimit(ask, this.keysOf(fn), 'override', text, '');
    if (!isKnown) throw new LimitUnknownError(fn);
  }

  update(fn: string, { id, mark }: JobKey, { input, place, key }: Changes): Promise<scripts.Updated> {
    const { jobs, wake, ...queues } = this.keysOf(fn);
    const keys = [jobs, ...QUEUES.map((queue) => queues[queue]), wake];
    const to = place ? QUEUES.indexOf(place.queue) + FIRST_QUEUE : 0;
    const due = place ? dueText(place, this.testClock) : '';
    const hasKey = key === undefined ? 0 : 1;
    const inputs = input === undefined ? [] : [input];
    return this.questions.ask(fn, 'Changing a job', (redis) =>
      scripts.update.run(redis, keys, id, mark ?? '', to, due, hasKey, key ?? '', inputs),
    );
  }

  signal: GearMonkeyStore['signal'] = (...signal) => this.recordings.signal(...signal);

  async lastId(fn: string): Promise<number> {
    const read = async (redis: Redis | Cluster) => Number(await redis.get(this.keysOf(fn).ids)) || 0;
    return this.questions.ask(fn, 'Draining', read);
  }

  drain(fn: string, { queue, kind, limited, last, cursor }: DrainStep): Promise<DrainedStep> {
    const { jobs, locks, channel, [queue]: drained, control, wake } = this.keysOf(fn);
    const keys = [jobs, locks, channel, ...(limited ? [control, wake] : [drained])];
    const drain = (redis: Redis | Cluster) =>
      limited
        ? limitScripts.drainLimited.run(redis, keys, '', last, cursor, kind, queue)
        : scripts.drain.run(redis, keys, '', last, cursor, kind);
    return this.questions.ask(fn, 'Draining', drain, { explain: explainToOperator });
  }

  statistics(fn: string, hours: readonly number[], byMinute: boolean): Promise<Counts[]> {
    const read = (redis: Redis | Cluster) =>
      readStatistics(redis, this.keysOf(fn).statistics, hours, byMinute);
    return this.questions.ask(fn, 'Reading statistics', read, { explain: explainToOperator });
  }

  mend: GearMonkeyStore['mend'] = (fn, verb, jobs) => this.views.mend(fn, verb, jobs);

  async pause(fn: string, paused: boolean): Promise<void> {
    const { control, scheduled, high, normal, low, wake } = this.keysOf(fn);
    const keys = [control, scheduled, high, normal, low, wake];
    const pause = (redis: Redis | Cluster) => scripts.pause.run(redis, keys, '', paused ? 1 : 0);
    await this.questions.ask(fn, paused ? 'Pausing' : 'Resuming', pause, { explain: explainToOperator });
  }

  isPaused(fn: string, wanted?: () => boolean): Promise<boolean> {
    const read = async (redis: Redis | Cluster) =>
      (await redis.hmget(this.keysOf(fn).control, 'paused'))[0] !== null;
    return this.questions.ask(fn, 'Reading the state', read, { wanted, explain: explainToOperator });
  }

  async listenToControl(fn: string, changed: () => void): Promise<() => void> {
    try {
      return await this.hub.listen(this.keysOf(fn).control, { message: changed, resync: changed });
    } catch (error) {
      throw await this.questions.failure(fn, `Listening to "${fn}"`, error, explainToOperator);
    }
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
