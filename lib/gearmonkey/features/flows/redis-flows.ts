import { randomUUID } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { FlowSlotsError } from '../../../job/flow-errors.js';
import {
  CANCELLED_WITH_FLOW,
  readEntry,
  writePlace,
  type FlowEntry,
  type FlowProgress,
  writeEntry,
} from '../../../job/flows.js';
import { ConnectionError, EnqueueTimeoutError } from '../../../job/server-errors.js';
import { slotOf } from '../../../redis/cluster-slots.js';
import { cancelFlow, enqueueAfter, flowAbandon, settleFunctions, type FlowReview } from './flow-scripts.js';
import { flowKey, newMark } from '../../core/wire/protocol.js';
import { time } from '../../core/wire/scripts.js';
import { STATE_FIELDS, stateOf, textOf } from '../../core/wire/stored-job.js';
import { nameFromWire, wireName } from '../../core/wire/wire-names.js';
import type { EnqueuedKey } from '../../core/client/enqueued-key.js';
import { Repeats } from '../../core/client/redis-questions.js';
import type { StoreServer } from '../../core/client/store-server.js';
import { explainOfFlows } from './flow-rights.js';
import { entryOf, FlowBuilding, unknownParent } from './flow-building.js';
import {
  MAX_SHOWN_PARENTS,
  type FlowMember,
  type FlowStore,
  type JobOf,
  type LaterJob,
  type NewFlow,
  type NewFlowJob,
  type WaitingFunctions,
} from './flow-store.js';

/** Most jobs that are removed at a time. */
const MAX_REMOVED = 200;
/** Seconds for which it remembers the call that has created a job, beyond the time in which it is repeated. */
const MEMORY_SECONDS = 60;
/** What is read of a job of a flow. */
const MEMBER_FIELDS = [...STATE_FIELDS, 'mark'] as const;
/** How often a flow is begun anew if a failover has lost a part of it, or one of its jobs was deleted. */
const TRIES = 3;

/** Flows on a Redis server. */
export class RedisFlows implements FlowStore {
  constructor(private readonly server: StoreServer) {}

  async create(jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow> {
    const fn = jobs[0]?.fn ?? '';
    await this.requireOneSlot(fn, [...jobs, ...after]);
    const flow = await this.build(fn, jobs, after);
    this.server.note([...new Set(jobs.map((job) => job.fn))]);
    await this.server.durable(fn, this.server.keysOf(fn).ids, flow.keys);
    return flow;
  }

  private async build(fn: string, jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow> {
    for (let tries = 1; ; tries++) {
      const building = new FlowBuilding(this.server, jobs);
      try {
        const { hasEnded } = await building.build(after);
        if (hasEnded) await this.settleSoon(fn);
        return building.flow;
      } catch (error) {
        // Its last call may have reached the server.
        if (await this.hasBegun(building)) {
          await this.settleSoon(fn);
          return building.flow;
        }
        if (tries < TRIES && String(error).includes('FLOWLOST')) continue;
        throw await this.explained(fn, error);
      }
    }
  }

  async add(job: LaterJob, after: readonly JobOf[]): Promise<EnqueuedKey> {
    const { keysOf, created, now } = this.server;
    const { fn } = job;
    await this.requireOneSlot(fn, after);
    const k = keysOf(fn);
    const [sender, mark] = [k.senders + randomUUID(), newMark()];
    const keys = [k.ids, k.jobs, k.scheduled, k.members, sender];
    const args = [job.input, job.options, writePlace(job.place), job.onParentError] as const;
    const at = created();
    const memory = MEMORY_SECONDS + Math.ceil((2 * this.server.timeout) / 1000);
    const reply = await this.ask(fn, 'Enqueueing', (redis) =>
      enqueueAfter.run(redis, keys, at, 1, memory, mark, now(), ...args, this.entriesOf(after)),
    ).catch(async (error: unknown) => {
      throw await this.explained(fn, error);
    });
    if (reply.id < 0) throw unknownParent(after, -reply.id);
    this.server.note([fn]);
    if (reply.hasEnded) await this.settleSoon(fn);
    const key = { id: String(reply.id), mark, created: true };
    await this.server.durable(fn, k.ids, [key]);
    return key;
  }

  async progress(fn: string, name: string, wanted?: () => boolean): Promise<FlowProgress | undefined> {
    const key = flowKey(this.server.keysOf(fn).jobs, name);
    const read = (redis: Redis | Cluster) => redis.hmget(key, 'done', 'failed', 'total');
    const values = await this.server.questions.ask(fn, 'Reading a flow', read, { wanted });
    const [done = 0, failed = 0, total = 0] = values.map(Number);
    return values.includes(null) ? undefined : { done, failed, total };
  }

  async cancel(fn: string, name: string): Promise<number> {
    const key = flowKey(this.server.keysOf(fn).jobs, name);
    const { message } = CANCELLED_WITH_FLOW;
    const info = JSON.stringify(CANCELLED_WITH_FLOW);
    const touched = new Set<string>();
    let cancelled = 0;
    for (let from = 0, isDone = false; !isDone;) {
      const cancel = (redis: Redis | Cluster) =>
        cancelFlow.run(redis, [key, `${key}:jobs`], this.server.now(), from, message, info);
      const repeats = new Repeats();
      const { ended, looked, total, functions } = await this.ask(fn, 'Cancelling a flow', repeats.of(cancel));
      cancelled += ended;
      for (const other of functions) touched.add(other);
      if (repeats.hasAny)
        for (const entry of await this.entries(fn, key, from, looked)) touched.add(entry.fn);
      [from, isDone] = [looked, looked >= total];
    }
    // Only now: the end of one would end those that wait for it.
    await this.settleSoon(fn, touched);
    return cancelled;
  }

  /** Some jobs of a flow. Functions have their names on the wire. */
  private async entries(fn: string, key: string, from: number, end: number) {
    const read = (redis: Redis | Cluster) => redis.lrange(`${key}:jobs`, from, end - 1);
    const entries = await this.ask(fn, 'Reading a flow', read);
    return entries.flatMap((text) => readEntry(text) ?? []);
  }

  waiting(fn: string, id: string): Promise<WaitingFunctions> {
    const named = this.naming();
    const first = { id, mark: '', fn: wireName(this.server.keysOf, fn) };
    const ask = <T>(question: (redis: Redis | Cluster) => Promise<T>) =>
      this.ask(fn, 'Reading who waits for a job', question);
    return waitingFor(first, ask, (entry) => named(entry).fn);
  }

  async members(fn: string, name: string, from: number, most: number): Promise<FlowMember[]> {
    const list = `${flowKey(this.server.keysOf(fn).jobs, name)}:jobs`;
    const [entries, now] = await this.ask(fn, 'Reading a flow', (redis) =>
      Promise.all([redis.lrange(list, from, from + most - 1), time.run(redis, [list], this.server.now())]),
    );
    const named = this.naming();
    return Promise.all(
      entries.flatMap((text) => readEntry(text) ?? []).map((entry) => this.memberOf(fn, entry, named, now)),
    );
  }

  /** Does what follows from ends of jobs, of functions with their names on the wire. */
  settle(fn: string, functions: Iterable<string>, review?: FlowReview): Promise<void> {
    const ask = <T>(question: (redis: Redis | Cluster) => Promise<T>) =>
      this.ask(fn, 'Settling jobs', question);
    return settleFunctions(ask, this.server.now, functions, review);
  }

  /** Does what follows from ends of jobs, of this function or of those given, if that can be done now. A worker does it later otherwise. */
  async settleSoon(
    fn: string,
    functions: Iterable<string> = [wireName(this.server.keysOf, fn)],
  ): Promise<void> {
    await this.settle(fn, functions).catch(() => undefined);
  }

  private async memberOf(
    fn: string,
    entry: FlowEntry,
    named: (entry: FlowEntry) => FlowEntry,
    now: number,
  ): Promise<FlowMember> {
    const key = `job:${entry.fn}:${entry.id}`;
    const read = async (redis: Redis | Cluster) => {
      const [values, parents] = await Promise.all([
        redis.hmgetBuffer(key, ...MEMBER_FIELDS).catch(noneOfAnotherType),
        redis.lrange(`${key}:parents`, 0, MAX_SHOWN_PARENTS - 1).catch(noneOfAnotherType),
      ]);
      const stored = new Map(MEMBER_FIELDS.flatMap((field, i) => (values[i] ? [[field, values[i]]] : [])));
      const isAnother = entry.mark !== '' && (textOf(stored, 'mark') ?? '0') !== entry.mark;
      if (!stored.get('status')?.byteLength || isAnother)
        return { ...named(entry), state: 'gone', parents: [] } as const;
      const waitsFor = parents.flatMap((parent) => readEntry(parent ?? '') ?? []).map(named);
      return { ...named(entry), state: stateOf(stored, now), parents: waitsFor };
    };
    return this.ask(fn, 'Reading a flow', read);
  }

  /** What this process calls the functions of entries. Each name is looked up once: there may be very many entries. */
  private naming(): (entry: FlowEntry) => FlowEntry {
    const { keysOf, prefix } = this.server;
    const known = new Map<string, string>();
    return (entry) => {
      const fn = known.get(entry.fn) ?? nameFromWire(keysOf, entry.fn, prefix) ?? entry.fn;
      known.set(entry.fn, fn);
      return { ...entry, fn };
    };
  }

  private entriesOf(after: readonly JobOf[]): string[] {
    return after.map((job) => entryOf(this.server.keysOf, job));
  }

  /** On a cluster all functions have to be in one slot. @throws FlowSlotsError */
  private requireOneSlot(fn: string, jobs: readonly { readonly fn: string }[]): Promise<void> {
    const { keysOf } = this.server;
    const others = [...new Set(jobs.map((job) => job.fn))].filter((other) => other !== fn);
    const names = others.map((other) => [other, keysOf(other).jobs] as const);
    if (names.length === 0) return Promise.resolve();
    return this.ask(fn, 'Creating a flow', async (redis) => {
      if (!(redis instanceof Cluster)) return;
      const slot = slotOf(keysOf(fn).jobs);
      const apart = names.find(([, key]) => slotOf(key) !== slot);
      if (apart) throw new FlowSlotsError([fn, apart[0]]);
    });
  }

  /** Removes what was created, unless the flow has begun. What can't be removed now is removed by workers later. */
  private async hasBegun({ fn, key, created }: FlowBuilding): Promise<boolean> {
    try {
      const abandon = (redis: Redis | Cluster) => flowAbandon.run(redis, [key, `${key}:jobs`]);
      if (await this.ask(fn, 'Creating a flow', abandon)) return true;
      for (const [name, ids] of created)
        for (const orphans of chunksOf(ids, MAX_REMOVED)) await this.settle(fn, [name], { orphans });
      // Each was noted among the jobs of the others.
      if (created.size > 1) await this.settle(fn, created.keys(), { review: true });
    } catch {
      // The cause of the failure is thrown.
    }
    return false;
  }

  private async explained(fn: string, error: unknown): Promise<unknown> {
    return error instanceof ConnectionError && !this.server.questions.isClosed
      ? new EnqueueTimeoutError(fn, this.server.timeout, error.cause)
      : error;
  }

  private ask<T>(fn: string, verb: string, question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.server.questions.ask(fn, verb, question, { explain: explainOfFlows });
  }
}

/** Most jobs that are looked at. */
const MOST_LOOKS = 10_000;

type Ask = <T>(question: (redis: Redis | Cluster) => Promise<T>) => Promise<T>;

/** The functions of jobs that wait for a job, or for one of these, and so on. Names are those on the wire. */
async function waitingFor(
  first: FlowEntry,
  ask: Ask,
  nameOf: (entry: FlowEntry) => string,
): Promise<WaitingFunctions> {
  const functions = new Set<string>();
  const seen = new Set([placeOf(first)]);
  for (let next: readonly FlowEntry[] = [first]; next.length > 0;) {
    if (seen.size > MOST_LOOKS) return { functions: [...functions], isWhole: false };
    const fresh: FlowEntry[] = [];
    for (const child of await childrenOf(next, ask)) {
      if (seen.has(placeOf(child))) continue;
      seen.add(placeOf(child));
      functions.add(nameOf(child));
      fresh.push(child);
    }
    next = fresh;
  }
  return { functions: [...functions], isWhole: true };
}

/** Of jobs that have ended the lists are kept, but nothing waits for them any more. */
async function childrenOf(jobs: readonly FlowEntry[], ask: Ask): Promise<FlowEntry[]> {
  const lists = await ask((redis) =>
    Promise.all(
      jobs.map(async ({ fn, id }) => {
        const key = `job:${fn}:${id}`;
        const [[status], entries] = await Promise.all([
          redis.hmget(key, 'status').catch(noneOfAnotherType),
          redis.lrange(`${key}:children`, 0, MOST_LOOKS).catch(noneOfAnotherType),
        ]);
        return status === 'idle' || status === 'busy' ? entries : [];
      }),
    ),
  );
  return lists.flat().flatMap((text) => readEntry(text ?? '') ?? []);
}

/** A job is known by its function and id; of some only these are known. */
function placeOf(entry: FlowEntry): string {
  return writeEntry({ ...entry, mark: '' });
}

/** Of a key that another program has given another type, nothing is shown. */
function noneOfAnotherType(error: unknown): never[] {
  if (String(error).includes('WRONGTYPE')) return [];
  throw error;
}
