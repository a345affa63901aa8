import type { RedisConnection } from '../../redis/redis-connection.js';
import type { KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';

/** How late a job is found at most that nobody told of: the protocol's second. */
const LOOK_MS = 1000;
/** How long nobody else looks when the lookout has died. */
const HOLD_MS = 1500;
/** Functions that one call looks at: the server does nothing else meanwhile. */
const MAX_FUNCTIONS = 100;

export interface LookoutOptions {
  readonly commands: RedisConnection;
  /** This worker's name among all. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  /** Functions that would take jobs. */
  readonly idle: () => Iterable<string>;
  /** Milliseconds until the next scheduled job of `fn` is due, or -1. Only the lookout of `fn` is told. */
  readonly onOutlook: (fn: string, wait: number) => void;
}

/**
 * Looks for work that nobody told of, and sets the markers of functions that have some. One of all workers of a
 * function is its lookout, and stays it when it is busy: were all to look, they would wake each other.
 */
export class Lookout {
  private readonly own = new Set<string>();
  private timer?: NodeJS.Timeout;
  private looking = false;
  private closed = false;

  constructor(private readonly options: LookoutOptions) {}

  start(): void {
    if (!this.closed) this.timer ??= setInterval(() => void this.beat(), LOOK_MS).unref();
  }

  /** Whether this worker is the lookout of `fn`. */
  isFor(fn: string): boolean {
    return this.own.has(fn);
  }

  /** For jobs that have fallen due, as this worker knows and the lookout perhaps does not yet. */
  async lookForDue(functions: readonly string[]): Promise<void> {
    const [own, others] = [true, false].map((own) => functions.filter((fn) => this.isFor(fn) === own));
    await Promise.all([this.look(own ?? []), this.lookAround(others ?? [])]);
  }

  /** Whoever is the lookout: a marker may have been lost. */
  async lookAround(functions: readonly string[]): Promise<void> {
    await this.ask(functions, '');
  }

  /** Leaves it to others. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.timer);
    const { commands, worker } = this.options;
    // Without an answer others look when its time is over.
    if (commands.isReady) await this.ask([...this.own], worker, 0).catch(() => undefined);
  }

  /** What fails is left to the next. */
  private async beat(): Promise<void> {
    if (this.looking || !this.options.commands.isReady) return;
    this.looking = true;
    await this.look([...new Set([...this.options.idle(), ...this.own])]).catch(() => undefined);
    this.looking = false;
  }

  /** Does nothing for functions of which another worker is the lookout. */
  private async look(functions: readonly string[]): Promise<void> {
    for (const [fn, { wait, lookout }] of await this.ask(functions, this.options.worker)) {
      if (lookout) this.own.add(fn);
      else this.own.delete(fn);
      if (lookout) this.options.onOutlook(fn, wait);
    }
  }

  private async ask(
    functions: readonly string[],
    worker: string,
    hold = HOLD_MS,
  ): Promise<[fn: string, scripts.Outlook][]> {
    if (functions.length === 0) return [];
    const redis = await this.options.commands.ready();
    const calls = [];
    for (let from = 0; from < functions.length; from += MAX_FUNCTIONS) {
      const keys = functions.slice(from, from + MAX_FUNCTIONS).flatMap(this.keysFor);
      calls.push(scripts.look.run(redis, keys, '', worker, hold));
    }
    const outlooks = (await Promise.all(calls)).flat();
    return functions.map((fn, index) => [fn, outlooks[index] ?? { wait: -1, lookout: false }]);
  }

  private readonly keysFor = (fn: string): string[] => {
    const { leases, scheduled, high, normal, low, wake, lookout } = this.options.keysOf(fn);
    return [leases, scheduled, high, normal, low, wake, lookout];
  };
}
