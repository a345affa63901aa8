import { withDeadline } from '../job/deadline.js';
import type { Payload } from '../job/codec.js';
import { ConnectionError, GearMonkeyError, MalformedJobError } from '../job/errors.js';
import type { Progress } from '../job/job.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { ChannelHub } from './channel-hub.js';
import { Enqueuer } from './enqueuer.js';
import type { JobListener, JobStore, Placement, StoredJob } from './job-store.js';
import { keysOf } from './protocol.js';

/** The client's side of GearMonkey on a Redis server. */
export class RedisStore implements JobStore {
  private readonly enqueuer: Enqueuer;
  private readonly hub: ChannelHub;

  constructor(
    private readonly commands: RedisConnection,
    private readonly subscriber: RedisConnection,
    /** Milliseconds a command may take. */
    private readonly timeout: number,
  ) {
    this.enqueuer = new Enqueuer(commands, timeout);
    this.hub = new ChannelHub(subscriber);
  }

  enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<string[]> {
    return this.enqueuer.add(fn, inputs, placement);
  }

  async read(fn: string, ids: readonly string[]): Promise<(StoredJob | undefined)[]> {
    const { jobs } = keysOf(fn);
    return this.ask(`Reading jobs of "${fn}"`, async () => {
      const redis = await this.commands.ready(this.timeout);
      return Promise.all(
        ids.map(async (id) => toStored(await redis.hgetallBuffer(jobs + id).catch(wrongType(fn, id)))),
      );
    });
  }

  async readProgress(fn: string, ids: readonly string[]): Promise<(Progress | undefined)[]> {
    const { jobs } = keysOf(fn);
    return this.ask(`Reading progress of "${fn}"`, async () => {
      const redis = await this.commands.ready(this.timeout);
      return Promise.all(
        ids.map(async (id) => toProgress(await redis.hmget(jobs + id, 'status:dividend', 'status:divisor'))),
      );
    });
  }

  async count(fn: string): Promise<string | undefined> {
    return this.ask(`The roll call of "${fn}"`, async () => {
      const redis = await this.commands.ready(this.timeout);
      return (await redis.get(keysOf(fn).count)) ?? undefined;
    });
  }

  listen(fn: string, listener: JobListener): Promise<() => void> {
    return this.hub.listen(fn, listener);
  }

  close(): Promise<void> {
    this.hub.close();
    this.commands.close();
    this.subscriber.close();
    return Promise.resolve();
  }

  private async ask<T>(what: string, question: () => Promise<T>): Promise<T> {
    const late = () => new ConnectionError(what, `no answer within ${this.timeout} ms`);
    try {
      return await withDeadline(question(), this.timeout, late);
    } catch (error) {
      throw error instanceof GearMonkeyError ? error : new ConnectionError(what, error);
    }
  }
}

function toStored(hash: Record<string, Buffer>): StoredJob | undefined {
  const fields = Object.entries(hash);
  return fields.length === 0 ? undefined : new Map(fields);
}

function toProgress([dividend, divisor]: (string | null | undefined)[]): Progress | undefined {
  const progress = { dividend: Number(dividend ?? Number.NaN), divisor: Number(divisor ?? Number.NaN) };
  return Number.isNaN(progress.dividend) || Number.isNaN(progress.divisor) ? undefined : progress;
}

function wrongType(fn: string, id: string) {
  return (error: unknown): never => {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) {
      throw new MalformedJobError(fn, id, 'its key does not hold a hash');
    }
    throw error;
  };
}
