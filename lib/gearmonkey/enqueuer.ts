import { setTimeout as delay } from 'node:timers/promises';
import type { Payload } from '../job/codec.js';
import { withDeadline } from '../job/deadline.js';
import { ConnectionError, EnqueueTimeoutError, GearMonkeyError } from '../job/errors.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { Placement } from './job-store.js';
import { keysOf } from './protocol.js';
import { isTransientReply } from '../redis/redis-errors.js';
import * as scripts from './scripts.js';

/** Jobs that one script call creates at most. */
const MAX_BATCH = 1000;
const TRANSIENT_RETRY_MS = 50;

interface Batch {
  readonly fn: string;
  readonly placement: Placement;
  readonly inputs: Payload[];
  readonly ids: Promise<string[]>;
}

/** Creates jobs. What is enqueued for the same queue in the same tick is one call. */
export class Enqueuer {
  private batches = new Map<string, Batch>();

  constructor(
    private readonly connection: RedisConnection,
    /** Milliseconds until an enqueue is given up. */
    private readonly timeout: number,
  ) {}

  async add(fn: string, inputs: readonly Payload[], placement: Placement): Promise<string[]> {
    const parts = [];
    for (let from = 0; from < inputs.length; from += MAX_BATCH) {
      parts.push(this.addPart(fn, inputs.slice(from, from + MAX_BATCH), placement));
    }
    return (await Promise.all(parts)).flat();
  }

  private async addPart(fn: string, inputs: readonly Payload[], placement: Placement): Promise<string[]> {
    const key = JSON.stringify([fn, placement.queue, placement.score]);
    let batch = this.batches.get(key);
    if (!batch || batch.inputs.length + inputs.length > MAX_BATCH) {
      batch = this.open(fn, placement);
      this.batches.set(key, batch);
    }
    const from = batch.inputs.length;
    batch.inputs.push(...inputs);
    const ids = await batch.ids;
    return ids.slice(from, from + inputs.length);
  }

  private open(fn: string, placement: Placement): Batch {
    const inputs: Payload[] = [];
    const ids = new Promise<string[]>((resolve, reject) => {
      process.nextTick(() => {
        this.batches = new Map();
        this.send(fn, inputs, placement).then(resolve, reject);
      });
    });
    return { fn, placement, inputs, ids };
  }

  private send(fn: string, inputs: Payload[], placement: Placement): Promise<string[]> {
    let lastError: unknown;
    const attempt = async (until: number): Promise<string[]> => {
      try {
        return await this.sendOnce(fn, inputs, placement, until - performance.now());
      } catch (error) {
        lastError = error;
        if (!isTransientReply(error)) throw error;
        await delay(TRANSIENT_RETRY_MS, undefined, { ref: false });
        return attempt(until);
      }
    };
    const late = () => new EnqueueTimeoutError(fn, this.timeout, lastError);
    return withDeadline(attempt(performance.now() + this.timeout), this.timeout, late).catch(
      (error: unknown) => {
        if (error instanceof GearMonkeyError) throw error;
        throw new ConnectionError(`A job of "${fn}" may not have been enqueued`, error);
      },
    );
  }

  private async sendOnce(
    fn: string,
    inputs: Payload[],
    { queue, score }: Placement,
    timeout: number,
  ): Promise<string[]> {
    const redis = await this.connection.ready(timeout).catch((error: unknown) => {
      throw new EnqueueTimeoutError(fn, this.timeout, error);
    });
    const keys = keysOf(fn);
    const last = await scripts.enqueue.run(
      redis,
      [keys.ids, keys.jobs, keys[queue], keys.channel, keys.wake],
      Date.now(),
      score ?? '',
      inputs,
    );
    return inputs.map((_, index) => String(last - inputs.length + 1 + index));
  }
}
