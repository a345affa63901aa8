import { chunksOf } from '../../flow/chunks.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import type { KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';

/** How late a job is found at most that nobody told of: the protocol's second. */
const LOOK_MS = 1000;
/** How long a leader that died goes on to be it. */
const HOLD_MS = 3000;
/** A leader says again that it is it, and the others ask again, not with every look. */
const ELECT_MS = HOLD_MS / 2;
/** Functions that one call looks at: the server does nothing else meanwhile. */
const MAX_FUNCTIONS = 100;

export interface LeadershipOptions {
  readonly commands: RedisConnection;
  /** This worker's name among all. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  /** Functions that would take jobs. */
  readonly idle: () => Iterable<string>;
  /** Milliseconds until the next scheduled job of `fn` is due, or -1. Only the leader of `fn` is told. */
  readonly onDue: (fn: string, wait: number) => void;
  /** Whether this worker is to listen for jobs of plain clients. */
  readonly onListen: (fn: string, listens: boolean) => void;
}

/**
 * One of all workers of a function is its leader, and stays it when it is busy. It has two duties: once a second it
 * looks for work that nobody told of and sets the wake marker, and where plain clients send jobs it listens for them.
 * Were all workers to do so, they would wake each other.
 */
export class Leadership {
  private readonly own = new Set<string>();
  /** When each function's leader was last asked for. */
  private readonly askedAt = new Map<string, number>();
  private timer?: NodeJS.Timeout;
  private looking = false;
  private closed = false;

  constructor(private readonly options: LeadershipOptions) {}

  start(): void {
    if (!this.closed) this.timer ??= setInterval(() => void this.beat(), LOOK_MS).unref();
  }

  /** Whether this worker leads `fn`. */
  isLeader(fn: string): boolean {
    return this.own.has(fn);
  }

  /** For jobs that have fallen due, as this worker knows and the leader perhaps does not yet. */
  async lookForDue(functions: readonly string[]): Promise<void> {
    const own = functions.filter((fn) => this.isLeader(fn));
    const others = functions.filter((fn) => !this.isLeader(fn));
    await Promise.all([this.look(own), this.lookAround(others)]);
  }

  /** For the leader: a marker may have been lost. */
  async lookAround(functions: readonly string[]): Promise<void> {
    await this.ask(functions, '');
  }

  /** Leaves it to others. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.timer);
    const { commands, worker } = this.options;
    // Without an answer another leads when its time is over.
    if (commands.isReady) await this.ask([...this.own], worker, 0).catch(() => undefined);
  }

  /** What fails is left to the next. */
  private async beat(): Promise<void> {
    if (this.looking || !this.options.commands.isReady) return;
    this.looking = true;
    const since = performance.now() - ELECT_MS;
    const known = [...new Set([...this.options.idle(), ...this.own])];
    const elects = known.filter((fn) => (this.askedAt.get(fn) ?? -Infinity) < since);
    const looks = known.filter((fn) => this.isLeader(fn) && !elects.includes(fn));
    await Promise.allSettled([this.elect(elects), this.look(looks)]);
    this.looking = false;
  }

  /** Looks as well, where it leads then. */
  private async elect(functions: readonly string[]): Promise<void> {
    const asked = performance.now();
    for (const [fn, { wait, leads, plain }] of await this.ask(functions, this.options.worker)) {
      this.askedAt.set(fn, asked);
      if (leads) this.own.add(fn);
      else this.own.delete(fn);
      if (leads) this.options.onDue(fn, wait);
      this.options.onListen(fn, leads && plain);
    }
  }

  private async look(functions: readonly string[]): Promise<void> {
    for (const [fn, { wait }] of await this.ask(functions, '')) this.options.onDue(fn, wait);
  }

  private async ask(
    functions: readonly string[],
    worker: string,
    hold = HOLD_MS,
  ): Promise<[fn: string, scripts.Looked][]> {
    if (functions.length === 0) return [];
    const redis = await this.options.commands.ready();
    const calls = chunksOf(functions, MAX_FUNCTIONS).map((some) =>
      scripts.look.run(redis, some.flatMap(this.keysFor), '', worker, hold),
    );
    const replies = (await Promise.all(calls)).flat();
    return functions.map((fn, index) => [fn, replies[index] ?? { wait: -1, leads: false, plain: false }]);
  }

  private readonly keysFor = (fn: string): string[] => {
    const { leases, scheduled, high, normal, low, wake, leader, plain } = this.options.keysOf(fn);
    return [leases, scheduled, high, normal, low, wake, leader, plain];
  };
}
