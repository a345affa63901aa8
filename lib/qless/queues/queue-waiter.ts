import { randomUUID } from 'node:crypto';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { pauseAfter } from '../../redis/retry.js';
import * as scripts from '../wire/source-scripts.js';

/** How long a wait lasts at most: jobs that other implementations of the core put wake nobody. */
const LOOK_SECONDS = 1;
/** When the blocking connection is down, too. */
const LOOK_MS = 1500;
const LEAVE_MS = 1000;
const NUDGE_SECONDS = 2;

export interface WaiterConnections {
  readonly prefix: string;
  readonly commands: RedisConnection;
  readonly blocking: RedisConnection;
}

/**
 * Blocks until one of several queues may have a job. Whoever claims in vain leaves a token with each queue in the
 * same call, so no job can come unnoticed in between; each that comes moves one token to the list blocked on.
 */
export class QueueWaiter {
  /** Queues that may have a token of ours. */
  private readonly tokens = new Set<string>();
  private readonly wakeKeys: ReadonlyMap<string, string>;
  /** A push to it ends the blocking call. */
  private readonly nudgeKey: string;
  /** What its tokens are called. */
  readonly id = randomUUID();
  private blocked: Promise<void> | undefined;
  private wake: ((woken: boolean) => void) | undefined;

  constructor(
    private readonly connections: WaiterConnections,
    private readonly queues: readonly string[],
  ) {
    const { prefix } = connections;
    this.wakeKeys = new Map(queues.map((queue) => [`${prefix}wake:${queue}`, queue]));
    this.nudgeKey = `${prefix}nudge:${this.id}`;
  }

  /** A claim in vain has left tokens with all queues. */
  registered(): void {
    for (const queue of this.queues) this.tokens.add(queue);
  }

  /** True when a job woke it; false after `ms` milliseconds or a second, or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (ms <= 0 || signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = (woken: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        this.wake = undefined;
        resolve(woken);
      };
      const stop = () => done(false);
      const timer = setTimeout(stop, Math.min(ms, LOOK_MS));
      signal.addEventListener('abort', stop);
      this.wake = done;
      this.blocked ??= this.block();
    });
  }

  /** Ends the wait as if its time had passed. */
  interrupt(): void {
    this.wake?.(false);
  }

  /** Takes the tokens back. */
  async close(): Promise<void> {
    this.interrupt();
    if (!this.blocked) return this.leave();
    await this.nudge();
    await this.blocked;
  }

  /** Goes on when its caller doesn't wait any longer: the next wait may well find it useful. */
  private async block(): Promise<void> {
    let woken: string | undefined;
    try {
      const redis = await this.connections.blocking.ready(LOOK_MS);
      const popped = await redis.blpop(...this.wakeKeys.keys(), this.nudgeKey, LOOK_SECONDS);
      woken = popped ? this.wakeKeys.get(popped[0]) : undefined;
      if (woken !== undefined) this.tokens.delete(woken);
    } catch (error) {
      if (!this.connections.blocking.isClosed) await pauseAfter(error);
    }
    this.blocked = undefined;
    if (this.wake) this.wake(woken !== undefined);
    else await this.leave(woken);
  }

  /** What woke somebody who has no use for it wakes another. */
  private async leave(woken = ''): Promise<void> {
    const { commands, prefix } = this.connections;
    const queues = [...this.tokens];
    this.tokens.clear();
    if (queues.length === 0 && woken === '') return;
    try {
      await scripts.withdraw.run(await commands.ready(LEAVE_MS), [prefix], '', this.id, woken, queues);
    } catch {
      // Tokens expire.
    }
  }

  private async nudge(): Promise<void> {
    try {
      const redis = await this.connections.commands.ready(LEAVE_MS);
      await Promise.all([redis.rpush(this.nudgeKey, '1'), redis.expire(this.nudgeKey, NUDGE_SECONDS)]);
    } catch {
      // Without it the call ends by itself within a second.
    }
  }
}
