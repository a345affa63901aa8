import { randomUUID } from 'node:crypto';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { pauseAfter } from '../../redis/retry.js';
import * as scripts from '../wire/source-scripts.js';

/** The longest wait: jobs put by other implementations of the core cause no wake-up. */
const MAX_WAIT_SECONDS = 1;
/** When the blocking connection is down, too. */
const MAX_WAIT_MS = 1500;
const WITHDRAW_MS = 1000;
const INTERRUPT_SECONDS = 2;

export interface WaiterConnections {
  readonly prefix: string;
  readonly commands: RedisConnection;
  readonly blocking: RedisConnection;
}

/**
 * Blocks until one of several queues may have a job. A claim that finds none leaves a token with each queue in the
 * same call, so that no job arrives unnoticed; each job that arrives moves one token to the list that is blocked on.
 */
export class QueueWaiter {
  /** Queues that may have a token of ours. */
  private readonly tokens = new Set<string>();
  private readonly wakeKeys: ReadonlyMap<string, string>;
  /** A push to it ends the blocking call. */
  private readonly interruptKey: string;
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
    this.interruptKey = `${prefix}nudge:${this.id}`;
  }

  /** A claim without a job has left tokens with all queues. */
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
      const timer = setTimeout(stop, Math.min(ms, MAX_WAIT_MS));
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
    if (!this.blocked) return this.withdraw();
    await this.interruptBlock();
    await this.blocked;
  }

  /** Continues after its caller has stopped waiting: the next wait can use it. */
  private async block(): Promise<void> {
    let woken: string | undefined;
    try {
      const redis = await this.connections.blocking.ready(MAX_WAIT_MS);
      const popped = await redis.blpop(...this.wakeKeys.keys(), this.interruptKey, MAX_WAIT_SECONDS);
      woken = popped ? this.wakeKeys.get(popped[0]) : undefined;
      if (woken !== undefined) this.tokens.delete(woken);
    } catch (error) {
      if (!this.connections.blocking.isClosed) await pauseAfter(error);
    }
    this.blocked = undefined;
    if (this.wake) this.wake(woken !== undefined);
    else await this.withdraw(woken);
  }

  /** Passes a wake-up that is not used on to another waiter. */
  private async withdraw(woken = ''): Promise<void> {
    const { commands, prefix } = this.connections;
    const queues = [...this.tokens];
    this.tokens.clear();
    if (queues.length === 0 && woken === '') return;
    try {
      await scripts.withdraw.run(await commands.ready(WITHDRAW_MS), [prefix], '', this.id, woken, queues);
    } catch {
      // Tokens expire.
    }
  }

  private async interruptBlock(): Promise<void> {
    try {
      const redis = await this.connections.commands.ready(WITHDRAW_MS);
      await Promise.all([
        redis.rpush(this.interruptKey, '1'),
        redis.expire(this.interruptKey, INTERRUPT_SECONDS),
      ]);
    } catch {
      // Without it the call ends by itself within a second.
    }
  }
}
