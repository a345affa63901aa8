import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { embeddedConnections } from '../embedded/open-embedded.js';
import { EmbeddedServer } from '../embedded/embedded-server.js';
import { openConnections, type RedisConnections } from '../gearmonkey/redis-connections.js';
import { RedisStore } from '../gearmonkey/redis-store.js';
import { toClaim } from '../gearmonkey/core/source/held-claims.js';
import { filed } from '../gearmonkey/features/limits/source-limits.js';
import { RedisParents } from '../gearmonkey/features/flows/redis-parents.js';
import { RedisSteps } from '../gearmonkey/features/steps/redis-steps.js';
import { StreamWriter } from '../gearmonkey/features/streams/redis-streams.js';
import { encodeOutcome, type SourceOutcome } from '../gearmonkey/core/source/outbox.js';
import {
  claimKeys,
  keysOf,
  type FunctionKeys,
  type JobKey,
  type KeysOf,
} from '../gearmonkey/core/wire/protocol.js';
import * as scripts from '../gearmonkey/core/wire/scripts.js';
import type { Payload } from '../job/codec.js';
import type { EnqueuedKey, Placement } from '../gearmonkey/core/client/job-store.js';
import type { Clock } from '../job/clock.js';
import { MAX_SPAN_MS } from '../job/duration.js';
import { messageOf } from '../job/errors.js';
import type { Claim, JobRecords, Outcome, SourceLimit } from '../job/job-source.js';
import { memberOf } from '../redis/lease-keeper.js';
import { dueOf, EmbeddedWaiting, inOrder, TAKEN, type WaitingJob } from './waiting-jobs.js';
import { areTicksReal } from './real-time.js';
import { LimitedJobs, ownLimit, withOwnLimit } from '../gearmonkey/features/limits/limit-testing.js';
import { JobTestingError } from './testing-errors.js';

/** Shorter than the default timeout of test runners. */
const ANSWER_MS = 4000;
const CONNECT_MS = 3000;
const FAKE_TICKS =
  'Fake timers must not replace what the connection to Redis needs: ' +
  "jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }).";
/** In this process ended jobs are kept, however far the test moves the clock: for a hundred years. */
const KEPT = '3153600000:3153600000:0';

export interface TestBackendOptions {
  readonly clock: Clock;
  readonly maxStalls: number;
  readonly maxPayloadBytes: number;
}

/**
 * Keeps the jobs of a test in this process or in a Redis, with the scripts, keys and messages of production and the test's clock.
 * Function names get a prefix on the wire, and their keys are deleted at the end. It does nothing by itself.
 */
export class TestBackend {
  readonly store: RedisStore;
  private readonly connections: Pick<RedisConnections, 'commands' | 'hub' | 'close'>;
  private readonly prefix = `test-${randomUUID()}:`;
  private readonly keysOf: KeysOf = (fn) => keysOf(this.prefix + fn);
  private readonly limits = new Map<string, SourceLimit>();
  /** Where the jobs are, unless a Redis has them. */
  private readonly server: EmbeddedServer | undefined;
  private readonly embedded = new Map<string, EmbeddedWaiting>();
  private closing: Promise<void> | undefined;

  /** @param url of a Redis; undefined keeps them in this process */
  constructor(
    url: string | undefined,
    private readonly options: TestBackendOptions,
  ) {
    this.server = url === undefined ? new EmbeddedServer(options.clock) : undefined;
    this.connections = this.server ? embeddedConnections(this.server) : openConnections(url as string);
    const { commands, hub } = this.connections;
    const [{ clock }, { prefix, keysOf: keys }] = [options, this];
    const naming = { keysOf: keys, prefix, scheduleIndex: `${prefix}schedules` };
    this.store = new (class extends RedisStore {
      override enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
        return super.enqueue(fn, inputs, withOwnLimit(prefix, placement));
      }
    })(commands, hub, { timeout: ANSWER_MS, clock, ...naming });
  }

  /** @throws JobTestingError if it can't be reached */
  async reach(): Promise<void> {
    if (this.server) return;
    // Otherwise the attempt would never end.
    if (!(await areTicksReal())) throw new JobTestingError(FAKE_TICKS);
    try {
      await this.connections.commands.reach(CONNECT_MS);
    } catch (cause) {
      throw new JobTestingError(
        `${messageOf(cause)} This Redis is that of the test, from the option \`redis\` or GEARMONKEY_TEST_REDIS: without ` +
          'them jobs stay in the process.',
        { cause },
      );
    }
  }

  /** Adds a worker of the function, or removes one; one signs off only if the server can be reached. */
  async count(fn: string, change: 1 | -1): Promise<void> {
    if (change < 0 && !this.connections.commands.isReady) return;
    await this.ask((redis) => redis.incrby(this.keysOf(fn).count, change));
  }

  /** Sets what limits a function that gets a handler; undefined if nothing does. */
  async setLimit(fn: string, limit: SourceLimit | undefined): Promise<void> {
    if (!limit) return void this.limits.delete(fn);
    this.limits.set(fn, limit);
    await this.ask((redis) => this.limitsOf(redis, fn).declare(ownLimit(this.prefix, limit.rules)));
  }

  /**
   * The waiting jobs in the order workers take them: by time and id, then those without a time. One whose limit lets none start
   * for a time is due then.
   */
  async waiting(fn: string): Promise<Iterable<WaitingJob>> {
    const keys = this.keysOf(fn);
    if (this.server && this.server.run('HGET', [keys.control, 'limit']) === null) {
      const known = this.embedded.get(fn) ?? new EmbeddedWaiting(this.server, keys);
      this.embedded.set(fn, known);
      return known.all();
    }
    const { scheduled, high, normal, low } = keys;
    return this.ask(async (redis) => {
      const [due, ...lists] = await Promise.all([
        redis.zrangebyscore(scheduled, 0, '+inf', 'WITHSCORES'),
        ...[high, normal, low].map((list) => redis.lrange(list, 0, -1)),
      ]);
      // Workers pop from the end of a list.
      const listed = lists.flatMap((ids) => ids.toReversed().map((id) => ({ id, due: 0 })));
      const limited = await this.limitsOf(redis, fn).waiting(this.options.clock.now());
      return [...scoresOf(due).sort(inOrder), ...listed, ...limited];
    });
  }

  /** Claims this job if it waits, is due, and no limit prevents it. Its lease does not expire by itself. */
  async take(fn: string, id: string): Promise<Claim | undefined> {
    const { scheduled, high, normal, low } = this.keysOf(fn);
    const [claim] = await this.ask(async (redis) => {
      const key = await this.limitsOf(redis, fn).keyOf(id);
      if (key !== undefined) return this.takeLimited(redis, fn, id, key);
      const others = await redis.zrangebyscore(scheduled, 0, 0);
      await Promise.all([high, normal, low].map((list) => redis.lrem(list, 0, id)));
      await redis.zadd(scheduled, ...others.flatMap((other) => [TAKEN, other]), 0, id);
      const { claims, unfiled } = await this.claim(redis, fn, 1);
      if (unfiled.length === 0) return claims;
      await this.file(redis, fn, unfiled);
      const own = await this.limitsOf(redis, fn).keyOf(id);
      return own === undefined ? [] : this.takeLimited(redis, fn, id, own);
    });
    return claim && toClaim(fn, claim);
  }

  /** Those of flows get their keys when their turn comes. */
  private async file(redis: Redis | Cluster, fn: string, jobs: readonly scripts.TakenJob[]): Promise<void> {
    const limit = this.limits.get(fn);
    if (limit) for (const job of jobs) await this.claim(redis, fn, 0, filed(toClaim(fn, job), limit));
  }

  /** No list of the protocol is read, so only jobs with a key can be claimed. */
  private async takeLimited(redis: Redis | Cluster, fn: string, id: string, key: string) {
    const putBack = await this.limitsOf(redis, fn).putFirst(id, key);
    const nowhere = `none:${this.prefix}`;
    const { claims } = await this.claim(redis, fn, 1, undefined, {
      scheduled: nowhere,
      high: nowhere,
      normal: nowhere,
      low: nowhere,
    });
    const [claim] = claims;
    await putBack(claim?.id === id);
    if (!claim || claim.id === id) return claims;
    await this.claim(redis, fn, 0, { claim: toClaim(fn, claim), status: 'released' });
    return [];
  }

  /** Writes an outcome. Returns false if the claim was no longer held. */
  async settle(outcome: Outcome): Promise<boolean> {
    const { refused } = await this.ask((redis) => this.claim(redis, outcome.claim.fn, 0, outcome));
    return refused.length === 0;
  }

  readonly records: JobRecords = this.recordsOf();

  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    const k = this.keysOf(claim.fn);
    const keys = [k.jobs + claim.id, k.leases, k.progress];
    return this.ask((redis) => scripts.progress.run(redis, keys, memberOf(claim), dividend, divisor));
  }

  /** Ends the lease. The job returns to its queue, or fails if that happened too often. */
  async expire(claim: Claim): Promise<void> {
    await this.ask(async (redis) => {
      // As if workers had looked all the time, also if the clock was set back.
      await redis.del(this.keysOf(claim.fn).recovery);
      await scripts.renew.run(redis, [this.keysOf(claim.fn).leases, ''], 0, 0, '', [memberOf(claim)]);
      await this.claim(redis, claim.fn, 0);
    });
  }

  /** Sets how often a new job was claimed before. Only a token makes the script treat the next claim as a repeated one. */
  async setAttempts(fn: string, { id, mark = 0 }: JobKey, attempts: number): Promise<void> {
    await this.ask((redis) => redis.hset(this.keysOf(fn).jobs + id, { attempts, token: mark }));
  }

  /** Removes a waiting job from its queue. */
  async discard(fn: string, id: string): Promise<void> {
    const { scheduled, high, normal, low } = this.keysOf(fn);
    await this.ask((redis) =>
      Promise.all([redis.zrem(scheduled, id), ...[high, normal, low].map((list) => redis.lrem(list, 0, id))]),
    );
    await this.ask(async (redis) => {
      const limits = this.limitsOf(redis, fn);
      const key = await limits.keyOf(id);
      if (key !== undefined) await limits.remove(id, key);
    });
  }

  /** Forgets the jobs of all unique keys. */
  async forgetUnique(fn: string): Promise<void> {
    await this.ask((redis) => redis.del(this.keysOf(fn).unique));
  }

  /** Deletes everything. */
  close(): Promise<void> {
    this.closing ??= this.leave();
    return this.closing;
  }

  /** Deletes the keys. If the Redis can't be reached, they stay and the test does not fail. */
  private async leave(): Promise<void> {
    const { commands } = this.connections;
    if (commands.isReady) await this.ask((redis) => this.deleteKeys(redis)).catch(() => undefined);
    await this.store.close();
    this.connections.close();
  }

  private async deleteKeys(redis: Redis | Cluster): Promise<void> {
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `*${this.prefix}*`, 'COUNT', 1000);
      if (keys.length > 0) await redis.unlink(...keys);
      cursor = next;
    } while (cursor !== '0');
  }

  /** Calls the claim script with leases that last until the test ends them. */
  private async claim(
    redis: Redis | Cluster,
    fn: string,
    slots: number,
    outcome?: SourceOutcome,
    queues?: Partial<FunctionKeys>,
  ): Promise<scripts.ClaimReply> {
    const k = { ...this.keysOf(fn), ...queues };
    const { clock, maxStalls, maxPayloadBytes } = this.options;
    const reply = await scripts.claim.run(
      redis,
      claimKeys(k),
      clock.now(),
      MAX_SPAN_MS,
      slots,
      maxStalls,
      slots === 0 ? 1 : 0,
      maxPayloadBytes,
      this.limits.has(fn) ? 1 : 0,
      this.server ? KEPT : '',
      outcome ? encodeOutcome(outcome, k.replies) : [],
    );
    if (reply.awaited) await this.store.awaitedEnded(fn);
    return reply;
  }

  private limitsOf(redis: Redis | Cluster, fn: string): LimitedJobs {
    return new LimitedJobs(redis, this.prefix + fn, this.keysOf(fn));
  }

  private recordsOf(): JobRecords {
    const ask = <T>(call: (redis: Redis | Cluster) => Promise<T>) => this.ask(call);
    const [commands, keys] = [{ insist: ask, insistForJob: ask }, this.keysOf];
    return {
      steps: new RedisSteps(commands, keys, () => this.options.clock.now()),
      streams: new StreamWriter(commands, keys),
      parents: new RedisParents(commands, keys, this.prefix),
    };
  }

  private ask<T>(question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.connections.commands.insist(question, ANSWER_MS);
  }
}

/** The waiting jobs of a function. */
export interface WaitingOfFunction {
  readonly fn: string;
  readonly jobs: Iterable<WaitingJob>;
}

/** Asks about all functions at the same time, because a server may be slow. */
export function waitingOf(backend: TestBackend, functions: readonly string[]): Promise<WaitingOfFunction[]> {
  return Promise.all(functions.map(async (fn) => ({ fn, jobs: await backend.waiting(fn) })));
}

/** As `waitingOf`, without paused functions. */
export async function runnableOf(
  backend: TestBackend,
  functions: readonly string[],
): Promise<WaitingOfFunction[]> {
  // Together: between two requests a job might be claimed, and seem neither to wait nor to run.
  const [waiting, paused] = await Promise.all([
    waitingOf(backend, functions),
    Promise.all(functions.map((fn) => backend.store.edits.isPaused(fn))),
  ]);
  return waiting.filter((_, index) => !paused[index]);
}

/** Ids and scores, alternating; scores are seconds. */
function scoresOf(flat: readonly string[]): WaitingJob[] {
  return flat.flatMap((id, index) => (index % 2 === 0 ? [{ id, due: dueOf(Number(flat[index + 1])) }] : []));
}
