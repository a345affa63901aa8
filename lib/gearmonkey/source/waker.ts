import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { YIELD_MS, type RedisConnection } from '../../redis/redis-connection.js';
import type { KeysOf } from '../wire/protocol.js';
import { isReply } from '../../redis/redis-errors.js';
import { Leadership } from './leadership.js';
import * as scripts from '../wire/scripts.js';

/** The longer an idle worker waits at a time, the fewer commands it sends, and the later it finds a dead connection. */
const MAX_BLOCK_MS = 2000;
const RETRY_MS = 100;
/**
 * A blocking call costs the server time for each of its functions, and ends with the first marker. Beyond
 * this many functions it waits for a while before the next, and takes what was set meanwhile with one script.
 */
const FEW = 50;
const PAUSE_MS_A_FUNCTION = 0.01;
/** Markers that one call takes. */
const MAX_COLLECTED = 500;
const PROBE_MS = 300;

export interface WakerConnections {
  readonly blocking: RedisConnection;
  readonly commands: RedisConnection;
}

/** What becomes idle in the same tick waits together, and who was given claims in it has claimed again. */
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

/** Who is woken. */
export interface WakerListener {
  /** `fn` may have work. */
  onWork(fn: string): void;
  /** Whether jobs of `fn` may be claimed. */
  hasSlots(fn: string): boolean;
  /** Takes a turn of `fn` right behind a blocking call of up to `blocked` ms; false if there was no slot for one. */
  claimBehind(fn: string, redis: Redis | Cluster, blocked: number): Promise<boolean>;
  /** The server refuses to let it wait. */
  onRefused(error: unknown): void;
  /** Whether this worker is to listen for jobs of plain clients. */
  onListen(fn: string, listens: boolean): void;
  /** Gives back what such a turn claimed if its reply never came. */
  recall(fn: string): Promise<void>;
}

/** What a source wants of whoever tells it of work. */
export interface WorkSignal {
  /** Whether a connection broke. */
  readonly isDown: boolean;
  /** `fn` has nothing to do for now; `wait` milliseconds until its next scheduled job is due, or -1. */
  sleep(fn: string, wait: number): void;
  /** `fn` doesn't want to be woken: it has no free slot, or is being served. */
  awake(fn: string): void;
  /** Waits for nothing more, until a function is put to sleep again. */
  rest(): void;
  /** Sets the marker of `fn` if it has work, this worker's or another's to take. */
  look(fn: string): Promise<void>;
  close(): Promise<void>;
  /** Ends the connection, whatever is under way. */
  disconnect(): void;
}

/**
 * Tells which idle function may have work. All idle functions wait in one blocking call on their wake
 * markers; the time it waits is bounded by the next scheduled job. For the one
 * that had work last, a turn is sent along, which saves the job its round trip.
 */
export class Waker implements WorkSignal {
  private readonly idle = new Map<string, number>();
  private blockedOn: ReadonlySet<string> = new Set();
  private loop: Promise<void> = Promise.resolve();
  private lastWoken = '';
  /** The function whose turn went along with a blocking call that has not ended well. */
  private sentBehind: string | undefined;
  private running = false;
  private closed = false;
  /** Whether the blocking call is about to end. */
  private nudged = false;
  private readonly leadership: Leadership;

  constructor(
    private readonly connections: WakerConnections,
    worker: string,
    /** A list of this worker's own: a push to it ends the blocking call. */
    private readonly nudgeKey: string,
    private readonly keysOf: KeysOf,
    private readonly listener: WakerListener,
  ) {
    const { commands } = connections;
    const idle = () => this.idle.keys();
    const onListen = (fn: string, listens: boolean) => listener.onListen(fn, listens);
    this.leadership = new Leadership({ commands, worker, keysOf, idle, onDue: this.expect, onListen });
  }

  sleep(fn: string, wait: number): void {
    this.leadership.start();
    this.idle.set(fn, wait < 0 ? Infinity : performance.now() + wait);
    if (!this.running && !this.closed) {
      this.running = true;
      this.loop = this.run();
    } else if (this.blockedOn.size > 0 && !this.blockedOn.has(fn)) {
      void this.nudge();
    }
  }

  awake(fn: string): void {
    this.idle.delete(fn);
  }

  get isDown(): boolean {
    return this.connections.blocking.isDown;
  }

  rest(): void {
    this.idle.clear();
    if (this.blockedOn.size > 0) void this.nudge();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.rest();
    await Promise.all([this.loop, this.leadership.close()]);
  }

  disconnect(): void {
    this.connections.blocking.close();
  }

  private async run(): Promise<void> {
    let unsure = false;
    const { blocking } = this.connections;
    while (!this.closed && !blocking.isClosed && this.idle.size > 0) {
      await nextTick();
      const functions = this.withSlots();
      if (functions.length === 0) break;
      try {
        // A marker may have been lost with its connection.
        if (unsure) await this.leadership.lookAround(functions);
        unsure = false;
        await this.block(functions);
        if (functions.length > FEW) await this.collect(functions.length);
      } catch (error) {
        unsure = true;
        if (isReply(error)) this.listener.onRefused(error);
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
    const { sentBehind } = this;
    this.sentBehind = undefined;
    if (sentBehind !== undefined) await this.listener.recall(sentBehind).catch(() => undefined);
  }

  /** One without a slot is claimed for when it has one again. */
  private withSlots(): string[] {
    for (const fn of this.idle.keys()) if (!this.listener.hasSlots(fn)) this.wake(fn);
    return [...this.idle.keys()];
  }

  private async block(functions: readonly string[]): Promise<void> {
    const redis = await this.connections.blocking.ready();
    if (this.idle.size === 0) return;
    const markers = new Map(functions.map((fn) => [this.keysOf(fn).wake, fn]));
    const wait = this.wait(functions);
    const hot = this.idle.has(this.lastWoken) ? this.lastWoken : (functions[0] as string);
    this.blockedOn = new Set(functions);
    this.sentBehind = hot;
    this.nudged = false;
    const [popped, claimed] = await Promise.all([
      redis.blpop(...markers.keys(), this.nudgeKey, wait / 1000),
      this.listener.claimBehind(hot, redis, wait),
    ]).finally(() => (this.blockedOn = new Set()));
    this.sentBehind = undefined;
    const fn = popped ? markers.get(popped[0]) : undefined;
    if (!popped) await this.timedOut(claimed ? hot : undefined);
    else if (fn === hot && claimed) this.lastWoken = fn;
    else if (fn !== undefined) await this.woken(fn);
  }

  /** A marker that is of no use here goes back, if there is work. */
  private async woken(fn: string): Promise<void> {
    this.lastWoken = fn;
    if (this.idle.has(fn) && this.listener.hasSlots(fn)) this.wake(fn);
    else await this.look(fn);
  }

  private wake(fn: string): void {
    this.idle.delete(fn);
    this.listener.onWork(fn);
  }

  look(fn: string): Promise<void> {
    return this.leadership.lookAround([fn]);
  }

  private readonly expect = (fn: string, wait: number): void => {
    if (this.idle.has(fn)) this.idle.set(fn, wait < 0 ? Infinity : performance.now() + wait);
  };

  /**
   * Whoever knows of a job that falls due sets its function's marker, for any worker to take; for `served` it
   * took a turn itself. From then on the next due job is its leader's business, or else all would always know.
   */
  private async timedOut(served: string | undefined): Promise<void> {
    const now = performance.now();
    const due = [...this.idle].filter(([fn, at]) => at <= now && fn !== served).map(([fn]) => fn);
    for (const fn of due) this.idle.set(fn, Infinity);
    if (served !== undefined && !this.leadership.isLeader(served)) this.expect(served, -1);
    await this.leadership.lookForDue(due);
  }

  /** Milliseconds. */
  private wait(functions: readonly string[]): number {
    const due = Math.min(...functions.map((fn) => this.idle.get(fn) ?? Infinity));
    return Math.min(MAX_BLOCK_MS, Math.max(1, Math.ceil(due - performance.now())));
  }

  /** Takes the markers of all that are idle by then. */
  private async collect(blockedOn: number): Promise<void> {
    await delay(blockedOn * PAUSE_MS_A_FUNCTION);
    const redis = await this.connections.commands.ready();
    const idle = [...this.idle.keys()];
    for (let from = 0; from < idle.length; from += MAX_COLLECTED) {
      const functions = idle.slice(from, from + MAX_COLLECTED);
      const markers = functions.map((fn) => this.keysOf(fn).wake);
      const set = await scripts.collect.run(redis, markers);
      for (const index of set) await this.woken(functions[index] as string);
    }
  }

  private async nudge(): Promise<void> {
    if (this.nudged) return;
    this.nudged = true;
    try {
      const redis = await this.connections.commands.ready();
      await redis.multi().lpush(this.nudgeKey, '1').expire(this.nudgeKey, 2).exec();
    } catch {
      // Without it the call ends by itself within a second.
    }
  }
}
