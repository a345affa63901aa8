import { setTimeout as delay } from 'node:timers/promises';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { pauseAfter } from '../../../redis/retry.js';
import { isReply } from '../../../redis/redis-errors.js';
import type { FunctionStates } from './function-states.js';
import { Leadership } from './leadership.js';
import type { Notifier, NotifierParts } from './notifier.js';
import * as scripts from '../wire/scripts.js';

/** A longer wait sends fewer commands, but a dead connection is found later. */
const MAX_BLOCK_MS = 2000;
/**
 * A blocking call costs the server time for each of its functions, and ends with the first marker. With more functions
 * than this the notifier pauses before the next call, and collects the markers set meanwhile with one script.
 */
const FEW = 50;
const PAUSE_MS_A_FUNCTION = 0.01;
/** Most markers that one call collects. */
const MAX_COLLECTED = 500;
const PROBE_MS = 300;

/**
 * The phases of a notifier's loop:
 *
 * - `resting`: no function waits, and the loop does not run
 * - `busy`: between two blocking calls
 * - `blocked`: a blocking call waits
 * - `interrupted`: that call is about to end, because the functions to wait for have changed
 */
type Phase = 'resting' | 'busy' | 'blocked' | 'interrupted';

/** Functions that become idle in the same tick share a blocking call, and callers of `claim` have called again by then. */
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

/**
 * Reports which idle function may have work. All idle functions share one blocking call on their wake markers, which
 * ends at the latest when the next scheduled job is due. For the function that had work last, a call that claims is sent
 * along: the job then needs no further round trip.
 */
export class MarkerNotifier implements Notifier {
  /** The functions of this notifier, with the keys of their wake markers; on a cluster each slot has its own notifier. */
  private readonly markers = new Map<string, string>();
  private phase: Phase = 'resting';
  private loop: Promise<void> = Promise.resolve();
  private lastWoken = '';
  /** The function whose claim was sent along with a blocking call that has not succeeded yet. */
  private sentBehind: string | undefined;
  private closed = false;
  private readonly states: FunctionStates;
  private readonly leadership: Leadership;

  constructor(
    private readonly parts: NotifierParts,
    private readonly blocking: RedisConnection,
    /** This worker's own list: a push to it ends the blocking call. */
    private readonly ownList: string,
  ) {
    const { commands, worker, keysOf, housekeeper, duties, failures, states, listener } = parts;
    this.states = states;
    const idle = () => this.waiting();
    const onDue = (fn: string, wait: number) => states.expect(fn, wait);
    const onListen = (fn: string, listens: boolean) => listener.onListen(fn, listens);
    const told = { idle, onDue, onListen };
    this.leadership = new Leadership({ commands, worker, keysOf, housekeeper, duties, failures, ...told });
  }

  await(fn: string): void {
    if (!this.markers.has(fn)) this.markers.set(fn, this.parts.keysOf(fn).wake);
    if (this.phase === 'resting' && !this.closed) {
      this.phase = 'busy';
      this.loop = this.run();
    } else if (this.states.of(fn) === 'idle') {
      this.interrupt();
    }
  }

  serve(fn: string): void {
    this.leadership.serve(fn);
  }

  leave(fn: string): Promise<void> {
    this.markers.delete(fn);
    this.states.forget(fn);
    this.interrupt();
    return this.leadership.leave(fn);
  }

  get isDown(): boolean {
    return this.blocking.isDown;
  }

  interrupt(): void {
    if (this.phase !== 'blocked') return;
    this.phase = 'interrupted';
    void this.endWait();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.states.drain();
    this.interrupt();
    await Promise.all([this.loop, this.leadership.close()]);
  }

  disconnect(): void {
    this.blocking.close();
  }

  private async run(): Promise<void> {
    const { blocking } = this;
    while (!this.closed && !blocking.isClosed && this.waiting().length > 0) {
      await nextTick();
      if (this.withSlots().length === 0) break;
      try {
        await this.recover();
        const blockedOn = await this.block();
        if (blockedOn > FEW) await this.collect(blockedOn);
      } catch (error) {
        this.parts.failures.note();
        for (const fn of this.waiting()) this.states.apply(fn, 'lose');
        if (isReply(error)) this.parts.listener.onRefused(error);
        await pauseAfter(error);
        if (!isReply(error)) await this.reconnected();
      }
    }
    this.phase = 'resting';
  }

  private waiting(): string[] {
    return [...this.markers.keys()].filter((fn) => this.states.isWaiting(fn));
  }

  /** Checks for work after a reconnect: a marker may have been lost with the connection. */
  private async recover(): Promise<void> {
    const lost = this.waiting().filter((fn) => this.states.of(fn) === 'disconnected');
    if (lost.length === 0) return;
    await this.leadership.lookAround(lost);
    for (const fn of lost) if (this.states.of(fn) === 'disconnected') this.states.apply(fn, 'recover');
  }

  /** An outage usually affects both connections, so the other one is probed at once. */
  private async reconnected(): Promise<void> {
    const { blocking } = this;
    await blocking.ready().catch(() => undefined);
    await this.parts.commands.probe(PROBE_MS);
    const { sentBehind } = this;
    this.sentBehind = undefined;
    if (sentBehind !== undefined) await this.parts.listener.recall(sentBehind).catch(() => undefined);
  }

  /** Idle functions with a free slot. The others are claimed for when they have one again. */
  private withSlots(): string[] {
    for (const fn of this.waiting()) if (!this.parts.listener.hasSlots(fn)) this.wake(fn);
    return this.waiting();
  }

  /** Returns for how many functions it has waited. */
  private async block(): Promise<number> {
    const redis = await this.blocking.ready();
    const functions = this.withSlots().filter((fn) => this.states.of(fn) === 'idle');
    const [first] = functions;
    if (first === undefined) return 0;
    const byMarker = new Map(functions.map((fn) => [this.markers.get(fn) as string, fn]));
    const wait = this.wait(functions);
    const hot = functions.includes(this.lastWoken) ? this.lastWoken : first;
    for (const fn of functions) this.states.apply(fn, 'block');
    this.phase = 'blocked';
    this.sentBehind = hot;
    const [popped, claimed] = await Promise.all([
      redis.blpop(...byMarker.keys(), this.ownList, wait / 1000),
      this.parts.listener.claimBehind(hot, redis, wait),
    ]).finally(() => (this.phase = 'busy'));
    this.sentBehind = undefined;
    for (const fn of functions) if (this.states.of(fn) === 'blocked') this.states.apply(fn, 'unblock');
    const fn = popped ? byMarker.get(popped[0]) : undefined;
    if (!popped) await this.timedOut(claimed ? hot : undefined);
    else if (fn === hot && claimed) this.lastWoken = fn;
    else if (fn !== undefined) await this.woken(fn);
    return functions.length;
  }

  /** Handles a marker. If this worker can't use it, it is set again if there is work. */
  private async woken(fn: string): Promise<void> {
    this.lastWoken = fn;
    if (this.states.isWaiting(fn) && this.parts.listener.hasSlots(fn)) this.wake(fn);
    else await this.look(fn);
  }

  private wake(fn: string): void {
    this.states.apply(fn, 'wake');
    this.parts.listener.onWork(fn);
  }

  look(fn: string): Promise<void> {
    return this.leadership.lookAround([fn]);
  }

  /**
   * Sets the marker of functions with a due job, for any worker to take; for `served` this worker has claimed itself.
   * Then it forgets the time of the next due job and leaves it to the leader: otherwise all workers would know it.
   */
  private async timedOut(served: string | undefined): Promise<void> {
    const now = performance.now();
    const due = this.waiting().filter((fn) => this.states.due(fn) <= now && fn !== served);
    for (const fn of due) this.states.expect(fn, -1);
    if (served !== undefined && !this.leadership.isLeader(served)) this.states.expect(served, -1);
    await this.leadership.lookForDue(due);
  }

  /** How long the blocking call waits, in milliseconds. */
  private wait(functions: readonly string[]): number {
    const due = Math.min(...functions.map((fn) => this.states.due(fn)));
    return Math.min(MAX_BLOCK_MS, Math.max(1, Math.ceil(due - performance.now())));
  }

  /** Collects the markers of all idle functions. */
  private async collect(blockedOn: number): Promise<void> {
    await delay(blockedOn * PAUSE_MS_A_FUNCTION);
    const redis = await this.parts.commands.ready();
    const idle = this.waiting();
    for (let from = 0; from < idle.length; from += MAX_COLLECTED) {
      const functions = idle.slice(from, from + MAX_COLLECTED);
      const markers = functions.map((fn) => this.markers.get(fn) as string);
      const set = await scripts.collect.run(redis, markers);
      for (const index of set) await this.woken(functions[index] as string);
    }
  }

  private async endWait(): Promise<void> {
    try {
      const redis = await this.parts.commands.ready();
      await redis.multi().lpush(this.ownList, '1').expire(this.ownList, 2).exec();
    } catch {
      // If this fails, the call ends by itself soon.
    }
  }
}
