import type { Cluster, Redis } from 'ioredis';
import { JobCancelledError } from '../../../job/abort-errors.js';
import { dueText } from '../../core/client/placement.js';
import { Repeats, type RedisQuestions } from '../../core/client/redis-questions.js';
import type { StoreServer } from '../../core/client/store-server.js';
import type { JobKey, KeysOf } from '../../core/wire/protocol.js';
import { explainToOperator } from '../../core/wire/rights.js';
import * as scripts from './edit-scripts.js';
import type { Changes, DrainedStep, DrainStep, EditStore } from './edit-store.js';

/** In the order of the script's keys. */
const QUEUES = ['scheduled', 'high', 'normal', 'low'] as const;
/** The number of the first of these keys, counted from 1. */
const FIRST_QUEUE = 2;

/** Changes jobs and functions on a Redis server. */
export class RedisEdits implements EditStore {
  private readonly questions: RedisQuestions;
  private readonly keysOf: KeysOf;

  constructor(private readonly server: StoreServer) {
    this.questions = server.questions;
    this.keysOf = server.keysOf;
  }

  async cancel(fn: string, key: JobKey, sparesRunning = false): Promise<scripts.Cancellation> {
    const came = await this.end(fn, key, sparesRunning);
    if (came !== 'cancelled-in-flow') return came;
    await this.server.hooks.awaitedEnded(fn);
    return 'cancelled';
  }

  private async end(fn: string, { id, mark }: JobKey, sparesRunning: boolean): Promise<scripts.Cancellation> {
    const k = this.keysOf(fn);
    const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.channel, k.cancel];
    keys.push(k.wake);
    const error = new JobCancelledError(fn, id);
    const info = JSON.stringify({ name: error.name, code: error.code, message: error.message });
    const spares: readonly 1[] = sparesRunning ? [1] : [];
    const cancel = (redis: Redis | Cluster) =>
      scripts.cancel.run(redis, keys, '', id, mark ?? '', error.message, info, spares);
    const repeats = new Repeats();
    const came = await this.questions.ask(fn, 'Cancelling a job', repeats.of(cancel));
    return came === 'cancelled-before' && repeats.hasAny ? 'cancelled-in-flow' : came;
  }

  update(fn: string, { id, mark }: JobKey, { input, place, key }: Changes): Promise<scripts.Updated> {
    const { jobs, wake, ...queues } = this.keysOf(fn);
    const keys = [jobs, ...QUEUES.map((queue) => queues[queue]), wake];
    const to = place ? QUEUES.indexOf(place.queue) + FIRST_QUEUE : 0;
    const due = place ? dueText(place, this.server.clock) : '';
    const hasKey = key === undefined ? 0 : 1;
    const inputs = input === undefined ? [] : [input];
    return this.questions.ask(fn, 'Changing a job', (redis) =>
      scripts.update.run(redis, keys, id, mark ?? '', to, due, hasKey, key ?? '', inputs),
    );
  }

  async lastId(fn: string): Promise<number> {
    const read = async (redis: Redis | Cluster) => Number(await redis.get(this.keysOf(fn).ids)) || 0;
    return this.questions.ask(fn, 'Draining', read);
  }

  async drain(fn: string, { queue, kind, limited, last, cursor }: DrainStep): Promise<DrainedStep> {
    const { jobs, locks, channel, [queue]: drained, control, wake } = this.keysOf(fn);
    const keys = [jobs, locks, channel, ...(limited ? [control, wake] : [drained])];
    const drain = (redis: Redis | Cluster) =>
      limited
        ? scripts.drainLimited.run(redis, keys, '', last, cursor, kind, queue)
        : scripts.drain.run(redis, keys, '', last, cursor, kind);
    const repeats = new Repeats();
    const step = await this.questions.ask(fn, 'Draining', repeats.of(drain), { explain: explainToOperator });
    if (step.awaited || repeats.hasAny) await this.server.hooks.awaitedEnded(fn);
    return step;
  }

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
      return await this.server.hub.listen(this.keysOf(fn).control, { message: changed, resync: changed });
    } catch (error) {
      throw await this.questions.failure(fn, `Listening to "${fn}"`, error, explainToOperator);
    }
  }
}
