import type { FreeSlots } from '../../job/job-source.js';
import { realNow } from '../../job/real-time.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { isReply, isTransientReply } from '../../redis/redis-errors.js';
import { pauseAfter } from '../../redis/retry.js';
import type { QlessConnections } from '../connection/connections.js';
import { QueueWaiter } from '../queues/queue-waiter.js';
import type { Claimed } from '../wire/replies.js';
import { claimArguments } from '../wire/requests.js';
import * as scripts from '../wire/source-scripts.js';
import type { Orphans } from './orphans.js';
import type { QlessSourceOptions } from './source-options.js';

/** A worker that can't take the job it was woken for wakes another, but at most this often. */
const WAKE_OTHERS_MS = 1000;
const MAX_NAMED = 1000;

/** The parts of a source that its claims use. */
export interface ClaimerParts {
  readonly connections: QlessConnections;
  readonly blocking: RedisConnection;
  readonly orphans: Orphans;
  /** Called when the server has answered a claim. */
  readonly onReply: () => void;
}

/** Jobs that were taken. */
export interface Taken {
  readonly claimed: Claimed;
  /** When they were asked for, by `realNow`. */
  readonly asked: number;
}

/** Claims jobs from the queues, and waits until there may be one. */
export class Claimer {
  private readonly functions = new Set<string>();
  private readonly waiter: QueueWaiter;
  /** Where the next claim continues in each queue. */
  private readonly offsets: number[];
  /** Klasses without a handler that were reported. */
  private readonly named = new Set<string>();
  /** The queue that the next claim starts with, counted from 1. */
  private first = 1;
  private wokeOthersAt = -Infinity;

  constructor(
    private readonly parts: ClaimerParts,
    private readonly options: QlessSourceOptions,
  ) {
    const { connections, blocking } = parts;
    const { commands, prefix } = connections;
    this.waiter = new QueueWaiter({ prefix, commands, blocking }, options.queues);
    this.offsets = options.queues.map(() => 0);
  }

  /** Klasses with a handler: jobs of others are reported. */
  serve(functions: readonly string[]): void {
    for (const fn of functions) this.functions.add(fn);
  }

  withdraw(functions: readonly string[]): void {
    for (const fn of functions) this.functions.delete(fn);
  }

  /** Waits for jobs. Undefined when the signal aborts. @throws replies of Redis that waiting doesn't change */
  async claim(slots: FreeSlots, signal: AbortSignal): Promise<Taken | undefined> {
    let [woken, changed] = [false, false];
    const ignoreSlots = slots.onFree(() => {
      changed = true;
      this.waiter.interrupt();
    });
    try {
      while (!signal.aborted) {
        if (!(await this.reached(signal))) break;
        changed = false;
        const taken = await this.ask(slots, woken, signal);
        if (taken === undefined) continue;
        const { claimed } = taken;
        if (claimed.jobs.length > 0) return taken;
        const wait = claimed.due === undefined ? Infinity : claimed.due * 1000;
        woken = !changed && (await this.waiter.wait(wait, signal));
      }
      return undefined;
    } finally {
      ignoreSlots();
    }
  }

  /** Takes the tokens back. */
  close(): Promise<void> {
    return this.waiter.close();
  }

  /** False when the signal aborts before the server is reached. */
  private async reached(signal: AbortSignal): Promise<boolean> {
    const { commands } = this.parts.connections;
    if (commands.isReady) return true;
    let stop = (): void => undefined;
    const aborted = new Promise<boolean>((resolve) => {
      stop = () => resolve(false);
      signal.addEventListener('abort', stop);
    });
    const ready = commands.ready().then(() => true);
    return Promise.race([ready, aborted]).finally(() => signal.removeEventListener('abort', stop));
  }

  /** Undefined when the caller should try again. @throws replies of Redis that waiting doesn't change */
  private async ask(slots: FreeSlots, woken: boolean, signal: AbortSignal): Promise<Taken | undefined> {
    const { orphans } = this.parts;
    try {
      await orphans.settle();
      return await this.take(slots, woken);
    } catch (error) {
      if (!isReply(error)) orphans.unclear(error);
      else if (!isTransientReply(error)) throw error;
      await pauseAfter(error, signal);
      return undefined;
    }
  }

  private async take(slots: FreeSlots, woken: boolean): Promise<Taken> {
    const { connections, orphans, onReply } = this.parts;
    const { commands, prefix } = connections;
    const { worker, lock, popping, queues } = this.options;
    const free = slots.functions().map((fn) => [fn, slots.of(fn)] as const);
    const count = orphans.most(free.reduce((sum, [, slotsOfOne]) => sum + slotsOfOne, 0));
    const wakeOthers = woken && performance.now() - this.wokeOthersAt > WAKE_OTHERS_MS;
    if (wakeOthers) this.wokeOthersAt = performance.now();
    const request = claimArguments({
      ...{ worker, lock, popping, count, first: this.first, waiter: this.waiter.id, wakeOthers, slots: free },
      queues: queues.map((queue, index) => [queue, this.offsets[index] ?? 0]),
    });
    const redis = await commands.ready();
    const asked = realNow();
    const claimed = await scripts.claim.run(redis, [prefix], '', ...request);
    orphans.read();
    onReply();
    this.first = claimed.first;
    claimed.offsets.forEach((offset, index) => (this.offsets[index] = offset));
    if (claimed.jobs.length === 0 && claimed.due !== 0) this.waiter.registered();
    this.reportUnknownKlasses(claimed.left);
    return { claimed, asked };
  }

  private reportUnknownKlasses(klasses: readonly string[]): void {
    for (const klass of klasses) {
      if (this.functions.has(klass) || this.named.has(klass) || this.named.size > MAX_NAMED) continue;
      this.named.add(klass);
      this.options.onProblem(
        `Jobs of klass "${klass}" wait in ${this.options.queues.join(', ')}, and no handler here takes them. ` +
          'They are left to other workers.',
      );
    }
  }
}
