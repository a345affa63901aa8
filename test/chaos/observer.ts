import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { keyOf, type Finish, type JobName, type Reading } from './history.js';

const CHUNK = 500;
const READ_EVERY_MS = 200;
const RETRY_MS = 100;

/** Listens to the functions' channels on a way of its own, and reads each job when its finish is heard. */
export class Observer {
  readonly finishes: Finish[] = [];
  readonly firstReadings = new Map<string, Reading>();
  private readonly subscriber: Redis;
  readonly redis: Redis;
  private unread: JobName[] = [];
  private reading?: Promise<void>;
  private readonly timer: NodeJS.Timeout;

  constructor(url: string) {
    const retryStrategy = () => RETRY_MS;
    this.subscriber = new Redis(url, { retryStrategy, maxRetriesPerRequest: null });
    this.redis = new Redis(url, { retryStrategy, maxRetriesPerRequest: null });
    for (const redis of [this.subscriber, this.redis]) redis.on('error', () => undefined);
    this.subscriber.on('pmessage', (_, channel: string, message: string) => this.hear(channel, message));
    void this.subscriber.psubscribe('channel:chaos:*');
    this.timer = setInterval(() => (this.reading ??= this.readUnread()), READ_EVERY_MS);
  }

  /** Every job there is, by `fn#id`. */
  async readAll(functions: readonly string[]): Promise<Map<string, Reading>> {
    const all = new Map<string, Reading>();
    for (const fn of functions) {
      const last = Number((await this.redis.get(`uid:${fn}`)) ?? 0);
      for (let from = 1; from <= last; from += CHUNK) {
        const length = Math.min(CHUNK, last - from + 1);
        const names = Array.from({ length }, (_, i) => ({ fn, id: String(from + i) }));
        for (const reading of await this.read(names)) all.set(keyOf(reading), reading);
      }
    }
    return all;
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.reading;
    this.subscriber.disconnect();
    this.redis.disconnect();
  }

  private hear(channel: string, message: string): void {
    const [event, id = ''] = message.split(':');
    // What a hostile client says of jobs that are none.
    if (event !== 'finish' || !/^\d+$/.test(id)) return;
    const name = { fn: channel.slice('channel:'.length), id };
    this.finishes.push({ ...name, at: Date.now() });
    this.unread.push(name);
  }

  private async readUnread(): Promise<void> {
    while (this.unread.length > 0) {
      for (const reading of await this.read(this.unread.splice(0, CHUNK))) {
        // The first reading counts: what came to be known later is compared with it.
        if (!this.firstReadings.has(keyOf(reading))) this.firstReadings.set(keyOf(reading), reading);
      }
    }
    this.reading = undefined;
  }

  /** Those that exist. Waits through outages. */
  private async read(names: readonly JobName[]): Promise<Reading[]> {
    for (;;) {
      try {
        const hashes = await Promise.all(names.map(({ fn, id }) => this.redis.hgetall(`job:${fn}:${id}`)));
        return names
          .map((name, i) => ({ ...name, fields: hashes[i] ?? {} }))
          .filter(({ fields }) => Object.keys(fields).length > 0);
      } catch {
        await sleep(RETRY_MS);
      }
    }
  }
}
