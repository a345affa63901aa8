import type { Cluster, Redis } from 'ioredis';
import { type Clock, withDeadline } from '../../../job/clock.js';
import type { Payload } from '../../../job/codec.js';
import { messageOf } from '../../../job/errors.js';
import { LimitFullError } from '../../../job/limit-errors.js';
import {
  ConnectionError,
  EnqueueTimeoutError,
  NotDurableError,
  RefusedError,
} from '../../../job/server-errors.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { isReply } from '../../../redis/redis-errors.js';
import { isOutage, retryWhileUnreachable } from '../../../redis/retry.js';
import {
  createJobs,
  giveTo,
  closeInOrder,
  createdOf,
  isFull,
  callKeyOf,
  callPlacementOf,
  type Batch,
  type Call,
  type Sender,
  inParts,
  MAX_BATCH,
} from './enqueue-call.js';
import type { EnqueuedKey, Placement } from './job-store.js';
import { keysOf, newMark, type KeysOf } from '../wire/protocol.js';
import { explainToClient, type ExplainMore } from '../wire/rights.js';
import { randomUUID } from 'node:crypto';

// Kept, because fake timers of a test replace them.
const { nextTick } = process;
const { setImmediate } = globalThis;

/**
 * Most jobs that are enqueued one by one and share a call. With small calls the server works on one while the callers
 * of another continue. A call that has to wait for others takes more, so that a burst is enqueued in time.
 */
const MAX_JOINED = 50;
/** How long the server remembers a call after its timeout, so that it creates nothing if it is sent again. */
const MEMORY_SECONDS = 60;
/** The part of the timeout in which other jobs may join a waiting call, whose deadline is that of its first job. */
const JOIN_PART = 0.1;
/** How long one WAIT may block the connection. */
const WAIT_MS = 250;

export interface EnqueuerOptions {
  /** Knows the rights that features need. */
  readonly explainMore?: ExplainMore;
  /** Milliseconds after which an enqueue fails. */
  readonly timeout: number;
  /** How many replicas must have the jobs before they count as enqueued. */
  readonly replicas?: number;
  /** @default keysOf */
  readonly keysOf?: KeysOf;
  /** When jobs are created. @default the system's */
  readonly clock?: Pick<Clock, 'now'>;
  /** Functions have new jobs. */
  readonly onCreated?: (functions: readonly string[]) => void;
}

/**
 * Creates jobs. What is enqueued for the same queue in the same tick is one call.
 *
 * No `Batcher`: with a separate promise and deadline for each job an enqueue took Node 18.5 µs instead of 15.4
 * (docs/notes/performance.md). Here a call has one of each, and its jobs share them.
 */
export class Enqueuer {
  private batches = new Map<string, Batch>();
  private readonly senders: Senders;
  private readonly keysOf: KeysOf;

  constructor(
    private readonly connection: RedisConnection,
    private readonly options: EnqueuerOptions,
  ) {
    this.keysOf = options.keysOf ?? keysOf;
    this.senders = new Senders(this.keysOf);
  }

  /** @throws as JobStore.enqueue */
  add(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
    if (inputs.length === 1) return this.addPart(fn, inputs, placement, 0);
    // Twice as many as senders: no sender waits until the next part is known. In order nothing is sent behind a part that failed.
    const atATime = placement.inOrder ? 1 : 2 * SENDERS;
    return inParts(fn, inputs, atATime, (part, first) => this.addPart(fn, part, placement, first));
  }

  /** @param first the index of the part's first job */
  private addPart(
    fn: string,
    inputs: readonly Payload[],
    placed: Placement,
    first: number,
  ): Promise<EnqueuedKey[]> {
    const { options = '', feature } = placed;
    const key = callKeyOf(fn, placed);
    let batch = this.batches.get(key);
    if (!batch || isFull(batch, inputs) || this.isOld(batch)) {
      batch = this.open(key, fn, callPlacementOf(placed));
      this.batches.set(key, batch);
    }
    const from = batch.inputs.length;
    const to = from + inputs.length;
    for (const input of inputs) {
      batch.inputs.push(input);
      batch.options.push(options);
      batch.size += input.length + options.length;
    }
    if (feature) giveTo(batch, from, feature, first, inputs.length);
    return batch.keys.then(
      (keys) => keys.slice(from, to),
      (error: unknown) => {
        if (!(error instanceof NotDurableError)) throw error;
        throw new NotDurableError(fn, createdOf((batch.acknowledged ?? []).slice(from, to)), error.reason);
      },
    );
  }

  private isOld({ until }: Batch): boolean {
    return performance.now() > until - this.options.timeout * (1 - JOIN_PART);
  }

  /** Collects until the tick is over and a sender is free. */
  private open(key: string, fn: string, placement: Call['placement']): Batch {
    const sender = this.senders.next(fn, placement.inOrder);
    const call: Call = {
      fn,
      placement,
      mark: newMark(),
      inputs: [],
      options: [],
      most: sender.open === 0 ? MAX_JOINED : MAX_BATCH,
      size: 0,
      until: performance.now() + this.options.timeout,
    };
    // Redis answers calls together that it reads together: client and server would then wait for each other in turn.
    const later = this.batches.has(key) ? setImmediate : nextTick;
    if (placement.inOrder) closeInOrder(this.batches, fn);
    const sent = this.sendInTurn(sender, call, key, later);
    sender.open += 1;
    const ended = () => void (sender.open -= 1);
    sender.last = sent.then(ended, ended);
    const late = () =>
      call.acknowledged
        ? new NotDurableError(fn, createdOf(call.acknowledged), 'no replica confirmed them in time')
        : new EnqueueTimeoutError(fn, this.options.timeout, this.connection.trouble);
    return Object.assign(call, { keys: withDeadline(sent, this.options.timeout, late) });
  }

  /** Jobs may join the call until it is sent. */
  private async sendInTurn(
    sender: Sender,
    call: Call,
    key: string,
    later: (callback: () => void) => unknown,
  ): Promise<readonly EnqueuedKey[]> {
    const { last } = sender;
    await new Promise<void>((resolve) => later(resolve));
    await last;
    if (this.batches.get(key)?.inputs === call.inputs) this.batches.delete(key);
    const keys = await this.send(sender, call);
    this.options.onCreated?.([call.fn]);
    return keys;
  }

  /** Sends until the server has answered or the time is up, through broken connections and replies that mean "not now". */
  private async send(sender: Sender, call: Call): Promise<readonly EnqueuedKey[]> {
    const { fn, until } = call;
    sender.calls += 1;
    const { connection } = this;
    const { replicas, clock, timeout } = this.options;
    const memorySeconds = MEMORY_SECONDS + Math.ceil(timeout / 1000);
    const attempt = async (left: number) => {
      // WAIT covers only writes of its own connection, so a redirected call would not count.
      const redis = await (replicas === undefined
        ? connection.ready(left)
        : connection.holder(sender.key, left));
      call.acknowledged = await createJobs(redis, call, { sender, memorySeconds, clock });
      return replicas === undefined
        ? call.acknowledged
        : this.durable(redis, call, call.acknowledged, replicas);
    };
    try {
      return await retryWhileUnreachable(attempt, {
        timeout: until - performance.now(),
        mayPass: (error) => !connection.isClosed && (isOutage(error) || error instanceof ConnectionError),
        onFailure: () => connection.locate(),
        late: (error) => new EnqueueTimeoutError(fn, timeout, error ?? connection.trouble),
      });
    } catch (error) {
      if (error instanceof NotDurableError || error instanceof LimitFullError) throw error;
      if (connection.isClosed) throw ConnectionError.closed();
      throw isReply(error) ? await this.refusal(call, error) : error;
    }
  }

  private async refusal(call: Call, error: unknown): Promise<RefusedError> {
    const { fn } = call;
    const { connection } = this;
    const k = this.keysOf(fn);
    const more = async () => (await this.options.explainMore?.(connection, error, fn, k, call)) ?? error;
    return new RefusedError(`A job of "${fn}"`, await explainToClient(connection, error, fn, k, more));
  }

  /** Waits until replicas have jobs that were created otherwise, if the option demands it. @throws NotDurableError */
  async durably(fn: string, key: string, keys: readonly EnqueuedKey[]): Promise<void> {
    const { replicas, timeout } = this.options;
    if (replicas === undefined) return;
    const until = performance.now() + timeout;
    await this.durable(await this.connection.holder(key, timeout), { fn, until }, keys, replicas);
  }

  /** Waits in short calls, because others share the connection. @throws NotDurableError */
  private async durable<K extends readonly EnqueuedKey[]>(
    redis: Redis | Cluster,
    { fn, until }: Pick<Call, 'fn' | 'until'>,
    keys: K,
    replicas: number,
  ): Promise<K> {
    try {
      for (;;) {
        const left = Math.floor(until - performance.now());
        const reached = (await redis.call('WAIT', replicas, Math.max(1, Math.min(left, WAIT_MS)))) as number;
        if (reached >= replicas) return keys;
        if (left <= WAIT_MS) throw new Error(`only ${reached} of ${replicas} replicas have them`);
      }
    } catch (error) {
      throw new NotDurableError(fn, createdOf(keys), messageOf(error));
    }
  }
}

/** Most calls of one function that are under way; further jobs go with the next call. */
const SENDERS = 4;

/** The senders of each function. */
class Senders {
  private readonly senders = new Map<string, Sender[]>();
  private readonly name = randomUUID();

  constructor(private readonly keysOf: KeysOf) {}

  /** They are used one after the other. Calls that are sent in order have one, which sends each until it is answered. */
  next(fn: string, inOrder = false): Sender {
    const group = inOrder ? `${fn} in order` : fn;
    let senders = this.senders.get(group);
    if (!senders) {
      senders = this.make(fn, inOrder);
      this.senders.set(group, senders);
    }
    const sender = senders.shift() as Sender;
    senders.push(sender);
    return sender;
  }

  private make(fn: string, inOrder: boolean): Sender[] {
    const k = this.keysOf(fn);
    const key = `${k.senders}${this.name}:${inOrder ? 'o' : ''}`;
    return Array.from({ length: inOrder ? 1 : SENDERS }, (_, index) => ({
      key: `${key}${index}`,
      k,
      calls: 0,
      open: 0,
      last: Promise.resolve(),
    }));
  }
}
