import { randomUUID } from 'node:crypto';
import { withDeadline } from '../job/deadline.js';
import { ConnectionError, messageOf } from '../job/errors.js';
import type { Claim, JobSource, Outcome, Slots } from '../job/job-source.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { keysOf } from './protocol.js';
import * as scripts from './scripts.js';
import { Turns, memberOf } from './turns.js';
import { Waker } from './waker.js';

export interface RedisSourceOptions {
  /** How long a claim holds without being renewed, in ms. @default 8000 */
  lease?: number;
  /** How often a job may lose its worker before it ends as an error. @default 3 */
  maxStalls?: number;
  /** Told of jobs that can't be run and of calls that are tried again. */
  onProblem?: (message: string) => void;
}

export interface SourceConnections {
  readonly commands: RedisConnection;
  readonly blocking: RedisConnection;
}

/** A server that is down when the app starts is an error; one that is down when it stops is not waited for. */
const OPEN_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 3000;

interface Waiting {
  readonly slots: Slots;
  readonly resolve: (claims: readonly Claim[]) => void;
}

/** Jobs of a Redis server, by the GearMonkey protocol. */
export class RedisSource implements JobSource {
  readonly renewInterval: number;
  private readonly lease: number;
  private readonly turns = new Map<string, Turns>();
  private readonly waker: Waker;
  private readonly opened = new Set<string>();
  /** Functions of which nothing is known to wait: the waker tells when that changes. */
  private readonly asleep = new Set<string>();
  private waiting: Waiting | undefined;
  /** Claimed by a turn that came back after its caller had been answered. */
  private spare: Claim[] = [];

  constructor(
    private readonly connections: SourceConnections,
    private readonly options: RedisSourceOptions = {},
  ) {
    this.lease = options.lease ?? 8000;
    this.renewInterval = this.lease / 4;
    this.waker = new Waker(connections, `wake:${randomUUID()}`, (fn) => {
      this.asleep.delete(fn);
      this.turnsOf(fn).claim();
    });
  }

  async open(functions: readonly string[]): Promise<void> {
    const added = functions.filter((fn) => !this.opened.has(fn));
    if (added.length === 0) return;
    const redis = await this.connections.commands.ready(OPEN_TIMEOUT_MS);
    await Promise.all(added.map((fn) => redis.incr(keysOf(fn).count)));
    for (const fn of added) this.opened.add(fn);
  }

  claim(slots: Slots, signal: AbortSignal): Promise<readonly Claim[]> {
    if (this.spare.length > 0 || signal.aborted) return Promise.resolve(this.spare.splice(0));
    return new Promise((resolve) => {
      const stop = () => this.answer([]);
      this.waiting = {
        slots,
        resolve: (claims) => {
          signal.removeEventListener('abort', stop);
          resolve(claims);
        },
      };
      signal.addEventListener('abort', stop, { once: true });
      for (const fn of slots.keys()) if (!this.asleep.has(fn)) this.turnsOf(fn).claim();
    });
  }

  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const redis = await this.connections.commands.ready(this.renewInterval);
    const lost = await Promise.all(
      [...new Set(claims.map(({ fn }) => fn))].map(async (fn) => {
        const held = claims.filter((claim) => claim.fn === fn);
        const gone = new Set(
          await scripts.renew.run(redis, [keysOf(fn).leases], '', this.lease, held.map(memberOf)),
        );
        return held.filter((claim) => gone.has(memberOf(claim)));
      }),
    );
    return lost.flat();
  }

  async progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    const { jobs, leases, progress } = keysOf(claim.fn);
    const keys = [jobs + claim.id, leases, progress];
    return this.connections.commands.insist((redis) =>
      scripts.progress.run(redis, keys, claim.id, memberOf(claim), dividend, divisor),
    );
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const accepted = await Promise.all(
      outcomes.map((outcome) => this.turnsOf(outcome.claim.fn).settle(outcome)),
    );
    return outcomes.filter((_, index) => !accepted[index]).map(({ claim }) => claim);
  }

  async close(): Promise<void> {
    this.answer([]);
    try {
      if (this.opened.size === 0) return;
      const late = () => new ConnectionError('Redis did not answer', `not within ${CLOSE_TIMEOUT_MS} ms`);
      await withDeadline(this.signOff(), CLOSE_TIMEOUT_MS, late);
    } catch (error) {
      this.options.onProblem?.(`The worker could not sign off: ${messageOf(error)}`);
    } finally {
      this.connections.blocking.close();
      this.opened.clear();
    }
  }

  private async signOff(): Promise<void> {
    await this.waker.close();
    await Promise.all([...this.turns.values()].map((turns) => turns.stop()));
    const redis = await this.connections.commands.ready();
    await this.settle(this.spare.splice(0).map((claim) => ({ claim, status: 'released' })));
    await Promise.all([...this.opened].map((fn) => redis.decr(keysOf(fn).count)));
  }

  private turnsOf(fn: string): Turns {
    let turns = this.turns.get(fn);
    if (!turns) {
      turns = new Turns(fn, {
        connection: this.connections.commands,
        lease: this.lease,
        maxStalls: this.options.maxStalls ?? 3,
        slots: (name) => this.waiting?.slots.get(name) ?? 0,
        onTurn: (name, claims, wait, asked) => this.onTurn(name, claims, wait, asked),
        onDropped: (name, id) =>
          this.options.onProblem?.(
            `Job ${id} of "${name}" is queued but can't be run: its hash is missing, malformed or finished.`,
          ),
        onFailure: (name, reason) =>
          this.options.onProblem?.(`A turn of "${name}" is tried again: ${reason}`),
      });
      this.turns.set(fn, turns);
    }
    return turns;
  }

  private onTurn(fn: string, claims: readonly Claim[], wait: number, asked: number): void {
    if (claims.length < asked) {
      this.asleep.add(fn);
      this.waker.sleep(fn, wait);
    } else {
      this.asleep.delete(fn);
      this.waker.awake(fn);
    }
    if (claims.length === 0) return;
    if (this.waiting) this.answer(claims);
    else this.spare.push(...claims);
  }

  private answer(claims: readonly Claim[]): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.resolve(claims);
  }
}
