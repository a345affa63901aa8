import { performance } from 'node:perf_hooks';
import { chunksOf } from '../../../batching/chunks.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { repeat } from '../../../redis/rounds.js';
import type { KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';
import type { CallFailures } from './round-trips.js';
import type { Housekeeper, LeaderDuty } from './source-features.js';

/** The longest delay of a job without a wake marker: one second, as in the protocol. */
const LOOK_MS = 1000;
/** How long a function keeps a leader that died. */
const HOLD_MS = 3000;
/** The part of this time after which leadership is renewed or requested: less often than functions are checked. */
const ELECT_PART = 1 / 2;
/** The same for a function whose jobs keep this worker busy: usually another worker leads it, or this one already does. */
const BUSY_ELECT_PART = 1;
/** Most functions that one call checks: it blocks the server meanwhile. */
const MAX_FUNCTIONS = 90;

const NOTHING: scripts.Looked = { wait: -1, leads: false, plain: false, tick: -1, flows: false };

export interface LeadershipOptions {
  readonly commands: RedisConnection;
  /** This worker's unique name. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  readonly housekeeper: () => Housekeeper;
  /** Told of each look at a function that this worker leads. */
  readonly duties: readonly LeaderDuty[];
  readonly failures: CallFailures;
  /** How often functions are checked, and how long they keep a leader that died, in ms. @default 1000 and 3000 */
  readonly pace?: { readonly look: number; readonly hold: number };
  /** Functions that wait for jobs. */
  readonly idle: () => Iterable<string>;
  /** Called with the milliseconds until the next scheduled job of `fn` is due, or -1. Only for functions this worker leads. */
  readonly onDue: (fn: string, wait: number) => void;
  /** Called when this worker has to begin or stop listening for jobs of plain clients. */
  readonly onListen: (fn: string, listens: boolean) => void;
}

/**
 * One worker of each function is its leader, even while it is busy. Once a second it checks for work without a wake marker,
 * and sets the marker. It does the duties of features, and if plain clients send jobs, it listens for those. If all workers did
 * this, they would wake each other.
 */
export class Leadership {
  private readonly own = new Set<string>();
  /** Functions whose jobs this worker runs. They need a leader, even if all workers are busy all the time. */
  private readonly served = new Set<string>();
  /** Functions whose leadership is requested just now. */
  private readonly asking = new Set<string>();
  /** When leadership of each function was last requested. */
  private readonly askedAt = new Map<string, number>();
  private endLooks?: () => void;
  private looking = false;
  private closed = false;

  private readonly housekeeping: Housekeeper;
  private readonly pace: { readonly look: number; readonly hold: number };
  /** When it has looked last. */
  private lookedAt = -Infinity;

  constructor(private readonly options: LeadershipOptions) {
    const { housekeeper, pace = { look: LOOK_MS, hold: HOLD_MS } } = options;
    this.pace = pace;
    this.housekeeping = housekeeper();
  }

  /** This worker runs jobs of `fn` from now on. */
  serve(fn: string): void {
    this.served.add(fn);
    if (!this.closed) this.endLooks ??= repeat(this.pace.look, () => void this.beat(), true);
  }

  /** Whether this worker leads `fn`. */
  isLeader(fn: string): boolean {
    return this.own.has(fn);
  }

  /** Checks functions for due jobs that this worker has read of and the leader may not have. */
  async lookForDue(functions: readonly string[]): Promise<void> {
    const own = functions.filter((fn) => this.isLeader(fn));
    const others = functions.filter((fn) => !this.isLeader(fn));
    await Promise.all([this.look(own), this.lookAround(others)]);
  }

  /** Checks the functions that this worker leads: a marker may have been lost. */
  async lookAround(functions: readonly string[]): Promise<void> {
    await this.ask(functions, '');
  }

  /** Gives up leadership of a function. */
  async leave(fn: string): Promise<void> {
    this.askedAt.delete(fn);
    this.served.delete(fn);
    this.housekeeping.forget(fn);
    this.options.onListen(fn, false);
    // Of a request that is under way the answer comes too late: it is given up all the same.
    const wasAsking = this.asking.delete(fn);
    if (this.own.delete(fn) || wasAsking) await this.giveUp([fn]);
  }

  /** Gives up all leadership. */
  async close(): Promise<void> {
    this.closed = true;
    this.endLooks?.();
    await this.giveUp([...new Set([...this.own, ...this.asking])]);
  }

  /** If this fails, another worker leads when the time is over. */
  private async giveUp(functions: readonly string[]): Promise<void> {
    const { commands, worker } = this.options;
    if (commands.isReady) await this.ask(functions, worker, 0).catch(() => undefined);
  }

  /** Checks the functions once. If that fails, the next time tries again. */
  private async beat(): Promise<void> {
    if (this.looking) return;
    if (!this.options.commands.isReady) return this.options.failures.note();
    this.looking = true;
    const now = performance.now();
    const idle = new Set(this.options.idle());
    const known = [...new Set([...idle, ...this.own, ...this.served])];
    const elects = known.filter((fn) => {
      const part = idle.has(fn) || this.own.has(fn) ? ELECT_PART : BUSY_ELECT_PART;
      return (this.askedAt.get(fn) ?? -Infinity) < now - part * this.pace.hold;
    });
    const looks = known.filter((fn) => this.isLeader(fn) && !elects.includes(fn));
    await Promise.allSettled([this.elect(elects), this.look(looks)]);
    this.looking = false;
    await this.housekeeping.tend(this.own, now);
  }

  /** Requests leadership, and checks the functions that this worker leads. */
  private async elect(functions: readonly string[]): Promise<void> {
    const asked = performance.now();
    for (const fn of functions) this.asking.add(fn);
    const answers = await this.ask(functions, this.options.worker).catch((error: unknown) => {
      for (const fn of functions) this.asking.delete(fn);
      throw error;
    });
    for (const [fn, looked] of answers) {
      const { leads, plain } = looked;
      // It was left meanwhile.
      if (!this.asking.delete(fn)) continue;
      this.askedAt.set(fn, asked);
      if (leads) this.own.add(fn);
      else this.own.delete(fn);
      if (leads) this.found(fn, looked);
      this.options.onListen(fn, leads && plain);
    }
  }

  private async look(functions: readonly string[]): Promise<void> {
    for (const [fn, looked] of await this.ask(functions, '')) this.found(fn, looked);
  }

  private found(fn: string, looked: scripts.Looked): void {
    this.options.onDue(fn, looked.wait);
    for (const duty of this.options.duties) duty.found(fn, looked);
  }

  private async ask(
    functions: readonly string[],
    worker: string,
    hold = this.pace.hold,
  ): Promise<[fn: string, scripts.Looked][]> {
    if (functions.length === 0) return [];
    const redis = await this.options.commands.ready();
    const [sent, every] = [performance.now(), this.every];
    const calls = chunksOf(functions, MAX_FUNCTIONS).map((some) =>
      scripts.look.run(redis, some.flatMap(this.keysFor), '', worker, hold, every),
    );
    const replies = await Promise.all(calls).catch((error: unknown) => {
      this.options.failures.note();
      throw error;
    });
    this.lookedAt = sent;
    const looked = replies.flat();
    return functions.map((fn, index) => [fn, looked[index] ?? NOTHING]);
  }

  /** How often it looks, if that is not each second, and whether a call has failed since: the server has to know whether a look is late. */
  private get every(): [] | [ms: number] {
    const every = this.options.pace ? this.pace.look : 0;
    if (this.options.failures.since(this.lookedAt)) return [-Math.max(1, every)];
    return every > 0 ? [every] : [];
  }

  private readonly keysFor = (fn: string): string[] => {
    const k = this.options.keysOf(fn);
    return [
      ...[k.leases, k.scheduled, k.high, k.normal, k.low, k.wake],
      ...[k.ticks, k.control, k.members, k.leader, k.plain],
    ];
  };
}
