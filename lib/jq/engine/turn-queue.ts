import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import { realNow } from '../../job/real-time.js';
import { isReply } from '../../redis/redis-errors.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { pauseAfter } from '../../redis/retry.js';
import { EngineUnavailableError, shuttingDown } from './engine-errors.js';
import type { EngineLife } from './engine-life.js';
import type { Operation } from './operations.js';
import { READING_MS } from './settings.js';
import { turn, type Argument, type TurnReply } from './turn.js';

/** Two at a time keep Redis busy while replies travel. */
const MAX_AT_ONCE = 2;
const MAX_OPERATIONS = 200;
const MAX_BYTES = 16 * 1024 * 1024;
/** How many jobs a turn hands out. */
const MAX_PUSHES = 100;
const REDIS_WAIT_MS = 2000;
const REPEAT_MS = 30_000;
const MAX_SEED = 2 ** 31;

/** Why the next turn is made besides its operations; a sweep handles what has fallen due. */
type Wanted = 'nothing' | 'turn' | 'sweep';

interface Pending {
  readonly operation: Operation<unknown>;
  readonly args: readonly Argument[];
  readonly bytes: number;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

export interface TurnQueueOptions {
  readonly prefix: string;
  /** As `packSettings` made them. */
  readonly settings: Buffer;
  /** Milliseconds since 1970; without it the server's clock counts. */
  readonly now?: () => number;
  readonly life: EngineLife;
  /** Whether to hand out jobs. */
  readonly handsOut: () => boolean;
  readonly onTurn: (reply: TurnReply) => void;
  readonly onProblem?: ((message: string) => void) | undefined;
}

/** Collects operations for Redis: those that arrive while a turn is under way go with the next, in one call. */
export class TurnQueue {
  private readonly pending: Pending[] = [];
  /** Turns without an answer so far, by what they took along. */
  private readonly underWay = new Set<readonly Pending[]>();
  private scheduled = false;
  private wanted: Wanted = 'nothing';
  private said?: { readonly message: string; readonly at: number };

  constructor(
    private readonly connection: RedisConnection,
    private readonly options: TurnQueueOptions,
  ) {}

  /** @throws EngineUnavailableError */
  run<Reply>(operation: Operation<Reply>): Promise<Reply> {
    return new Promise<unknown>((resolve, reject) => {
      if (!this.options.life.may('answer')) return reject(shuttingDown());
      const { args } = operation;
      this.pending.push({ operation, args, bytes: sizeOf(args), resolve, reject });
      this.schedule();
    }).then((reply) => operation.decode(reply));
  }

  /** A turn soon, also without operations. */
  want(what: 'turn' | 'sweep'): void {
    if (!this.options.life.may('sweep')) return;
    if (this.wanted !== 'sweep') this.wanted = what;
    this.schedule();
  }

  /** Resolves when no operation is pending or under way. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0 || this.pending.length > 0) await delay(1);
  }

  /** Whether there is work for a turn. */
  private get isWanted(): boolean {
    return this.pending.length > 0 || this.wanted !== 'nothing';
  }

  /** Waits until all readable sockets have been read. */
  private schedule(): void {
    if (this.scheduled || !this.options.life.may('answer') || this.underWay.size >= MAX_AT_ONCE) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (this.isWanted) void this.take();
    });
  }

  private async take(): Promise<void> {
    const batch = this.nextBatch();
    const { wanted } = this;
    this.wanted = 'nothing';
    this.underWay.add(batch);
    if (this.pending.length > 0) this.schedule();
    const sweep = wanted === 'sweep' ? 1 : 0;
    try {
      const reply = await this.send(batch, sweep);
      batch.forEach((pending, index) => this.settle(pending, reply.replies[index]));
      this.options.onTurn(reply);
      if (reply.more) this.want('sweep');
    } catch (error) {
      await this.fail(batch, error);
    } finally {
      this.underWay.delete(batch);
      if (this.isWanted) this.schedule();
    }
  }

  private nextBatch(): Pending[] {
    let bytes = 0;
    let count = 0;
    for (const { bytes: more } of this.pending) {
      if (count > 0 && (count >= MAX_OPERATIONS || bytes + more > MAX_BYTES)) break;
      bytes += more;
      count += 1;
    }
    return this.pending.splice(0, count);
  }

  private async send(batch: readonly Pending[], sweep: 0 | 1): Promise<TurnReply> {
    const { prefix, settings, now, handsOut } = this.options;
    const operations = batch.flatMap(({ operation: { name }, args }) => [name, args.length, ...args]);
    const redis = await this.connection.ready(REDIS_WAIT_MS);
    const limit = handsOut() ? MAX_PUSHES : 0;
    const seed = randomInt(MAX_SEED);
    const sent = realNow();
    const reply = await turn.run(redis, [prefix], now?.() ?? '', settings, seed, sweep, limit, operations);
    // Read late, as this process was stopped: a sweep has queued these jobs again, or will.
    return realNow() - sent > READING_MS ? { ...reply, handed: [] } : reply;
  }

  private settle({ operation, resolve, reject }: Pending, reply: unknown): void {
    const failure = failureOf(reply);
    if (failure === undefined) return resolve(reply);
    this.complain(`Redis refused "${operation.name}": ${failure}`);
    reject(new EngineUnavailableError(failure));
  }

  /** Repeatable operations are sent again until there is an answer. */
  private async fail(batch: readonly Pending[], error: unknown): Promise<void> {
    // No request waits for periodic work. The connection itself reports outages.
    if (batch.length === 0 && isReply(error)) this.complain(`A turn failed: ${messageOf(error)}`);
    const unavailable = new EngineUnavailableError(error);
    const again = batch.filter(({ operation }) => operation.repeatable && this.options.life.may('repeat'));
    for (const pending of batch) if (!again.includes(pending)) pending.reject(unavailable);
    if (again.length === 0) return;
    await pauseAfter(error);
    this.pending.unshift(...again);
  }

  /** Repeats the last message only after a while. */
  private complain(message: string): void {
    const { said } = this;
    if (message === said?.message && performance.now() - said.at < REPEAT_MS) return;
    this.said = { message, at: performance.now() };
    this.options.onProblem?.(message);
  }
}

/** A failed operation replies 'failed' and why. */
function failureOf(reply: unknown): string | undefined {
  if (!Array.isArray(reply) || !Buffer.isBuffer(reply[0])) return undefined;
  return String(reply[0]) === 'failed' ? String(reply[1]) : undefined;
}

function sizeOf(args: readonly Argument[]): number {
  let bytes = 0;
  for (const arg of args) if (typeof arg !== 'number') bytes += arg.length;
  return bytes;
}
