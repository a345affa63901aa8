import { setTimeout as delay } from 'node:timers/promises';
import { YIELD_MS, type RedisConnection } from '../redis/redis-connection.js';
import { keysOf } from './protocol.js';
import { isReply } from '../redis/redis-errors.js';
import * as scripts from './scripts.js';

/** How long an idle worker sleeps at most before it looks for jobs nobody told of: the protocol's second. */
const LOOK_MS = 1000;
const RETRY_MS = 100;
const PROBE_MS = 300;

export interface WakerConnections {
  readonly blocking: RedisConnection;
  readonly commands: RedisConnection;
}

/**
 * Tells which idle function may have work. All idle functions wait in one blocking call on their wake
 * markers; the time it waits is bounded by the next scheduled job and by the protocol's second.
 */
export class Waker {
  private readonly idle = new Map<string, number>();
  private blockedOn: ReadonlySet<string> = new Set();
  private loop: Promise<void> = Promise.resolve();
  private running = false;
  private closed = false;

  constructor(
    private readonly connections: WakerConnections,
    /** A list of this worker's own: a push to it ends the blocking call. */
    private readonly nudgeKey: string,
    private readonly onWork: (fn: string) => void,
  ) {}

  /** `fn` has nothing to do for now; `wait` milliseconds until its next scheduled job is due, or -1. */
  sleep(fn: string, wait: number): void {
    this.idle.set(fn, wait < 0 ? Infinity : performance.now() + wait);
    if (!this.running && !this.closed) {
      this.running = true;
      this.loop = this.run();
    } else if (this.blockedOn.size > 0 && !this.blockedOn.has(fn)) {
      void this.nudge();
    }
  }

  /** `fn` doesn't want to be woken: it has no free slot, or is being served. */
  awake(fn: string): void {
    this.idle.delete(fn);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.idle.clear();
    if (this.blockedOn.size > 0) await this.nudge();
    await this.loop;
  }

  private async run(): Promise<void> {
    // What became idle in the same tick waits together.
    await Promise.resolve();
    let unsure = false;
    while (!this.closed && this.idle.size > 0) {
      const functions = [...this.idle.keys()];
      try {
        // A marker may have been lost with its connection.
        if (unsure) await this.look(functions);
        unsure = false;
        await this.block(functions);
      } catch (error) {
        unsure = true;
        await delay(isReply(error) ? RETRY_MS : YIELD_MS);
        if (!isReply(error)) await this.reconnected();
      }
    }
    this.running = false;
  }

  /** What silenced this connection may have silenced the other: it is asked, not left to be found out later. */
  private async reconnected(): Promise<void> {
    const { blocking, commands } = this.connections;
    await blocking.ready().catch(() => undefined);
    await commands.probe(PROBE_MS);
  }

  private async block(functions: readonly string[]): Promise<void> {
    const redis = await this.connections.blocking.ready();
    const markers = new Map(functions.map((fn) => [keysOf(fn).wake, fn]));
    this.blockedOn = new Set(functions);
    const popped = await redis
      .blpop(...markers.keys(), this.nudgeKey, this.secondsToWait(functions))
      .finally(() => (this.blockedOn = new Set()));
    if (!popped) return this.look(functions);
    const fn = markers.get(popped[0]);
    if (fn === undefined) return;
    if (this.idle.has(fn)) this.wake(fn);
    else await this.look([fn]);
  }

  private wake(fn: string): void {
    this.idle.delete(fn);
    this.onWork(fn);
  }

  /** Sets the markers of functions with work, this worker's or another's to take. */
  private async look(functions: readonly string[]): Promise<void> {
    const redis = await this.connections.commands.ready();
    const keys = functions.flatMap((fn) => {
      const { leases, scheduled, high, normal, low, wake } = keysOf(fn);
      return [leases, scheduled, high, normal, low, wake];
    });
    const waits = await scripts.look.run(redis, keys, '');
    functions.forEach((fn, index) => {
      const wait = waits[index] ?? -1;
      if (this.idle.has(fn)) this.idle.set(fn, wait < 0 ? Infinity : performance.now() + wait);
    });
  }

  private secondsToWait(functions: readonly string[]): number {
    const due = Math.min(...functions.map((fn) => this.idle.get(fn) ?? Infinity));
    const ms = Math.min(LOOK_MS, Math.max(1, Math.ceil(due - performance.now())));
    return ms / 1000;
  }

  private async nudge(): Promise<void> {
    try {
      const redis = await this.connections.commands.ready();
      await redis.multi().lpush(this.nudgeKey, '1').expire(this.nudgeKey, 2).exec();
    } catch {
      // Without it the call ends by itself within a second.
    }
  }
}
