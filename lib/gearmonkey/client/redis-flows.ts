import { randomUUID } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { chunksOf } from '../../flow/chunks.js';
import { FlowSlotsError, UnknownParentError } from '../../job/flow-errors.js';
import {
  CANCELLED_WITH_FLOW,
  readEntry,
  writeEntry,
  writePlace,
  type FlowEntry,
  type FlowProgress,
} from '../../job/flows.js';
import type { JobStatus } from '../../job/job.js';
import { ConnectionError, EnqueueTimeoutError } from '../../job/server-errors.js';
import { slotOf } from '../../redis/cluster-slots.js';
import {
  cancelFlow,
  enqueueAfter,
  flowBegin,
  flowEdges,
  flowJobs,
  settleFunctions,
  type FlowReview,
} from '../wire/flow-scripts.js';
import { flowKey, markAt, newMark, type KeysOf } from '../wire/protocol.js';
import type { Bytes, Now } from '../wire/scripts.js';
import { nameFromWire, wireName } from '../wire/wire-names.js';
import type { FlowMember, FlowStore, JobOf, LaterJob, NewFlow, NewFlowJob } from './flow-store.js';
import { MAX_BATCH_SIZE } from './enqueue-parts.js';
import type { EnqueuedKey } from './job-store.js';
import type { RedisQuestions } from './redis-questions.js';

/** Most jobs of one call, and most entries of lists. */
const [MAX_JOBS, MAX_ENTRIES, MAX_LISTS] = [200, 1000, 250];
/** Seconds for which the server keeps the jobs of a flow whose client died before it began. */
const KEPT_SECONDS = 3600;
/** Seconds for which it remembers the call that has created a job. */
const MEMORY_SECONDS = 120;
/** How often a flow is begun anew if a failover has lost a part of it. */
const TRIES = 3;

export interface RedisFlowsOptions {
  readonly questions: RedisQuestions;
  readonly keysOf: KeysOf;
  /** What `keysOf` puts before names. */
  readonly prefix?: string | undefined;
  readonly now: () => Now;
  /** When jobs are created. */
  readonly created: () => number;
  /** Milliseconds that an enqueue may take. */
  readonly timeout: number;
  /** Waits until replicas have what the key's server has. @throws NotDurableError with these ids */
  readonly durable: (fn: string, key: string, keys: readonly EnqueuedKey[]) => Promise<void>;
}

/** Flows on a Redis server. */
export class RedisFlows implements FlowStore {
  constructor(private readonly options: RedisFlowsOptions) {}

  async create(jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow> {
    const fn = jobs[0]?.fn ?? '';
    await this.requireOneSlot(fn, [...jobs, ...after]);
    for (let tries = 1; ; tries++) {
      const building = new FlowBuilding(this.options, jobs);
      try {
        const flow = await building.build(after);
        await this.options.durable(fn, this.options.keysOf(fn).ids, flow.keys);
        return flow;
      } catch (error) {
        await this.undo(building);
        if (tries < TRIES && String(error).includes('FLOWLOST')) continue;
        throw error instanceof ConnectionError ? this.late(fn, error) : error;
      }
    }
  }

  async add(job: LaterJob, after: readonly JobOf[]): Promise<EnqueuedKey> {
    const { keysOf, created, now } = this.options;
    const { fn } = job;
    await this.requireOneSlot(fn, after);
    const k = keysOf(fn);
    const [sender, mark] = [k.senders + randomUUID(), newMark()];
    const keys = [k.ids, k.jobs, k.scheduled, k.members, sender];
    const args = [job.input, job.options, writePlace(job.place), job.onParentError] as const;
    const at = created();
    const reply = await this.ask(fn, 'Enqueueing', (redis) =>
      enqueueAfter.run(redis, keys, at, 1, MEMORY_SECONDS, mark, now(), ...args, this.entriesOf(after)),
    ).catch((error: unknown) => {
      throw error instanceof ConnectionError ? this.late(fn, error) : error;
    });
    if (reply < 0) throw unknownParent(after, -reply);
    const key = { id: String(reply), mark, created: true };
    await this.options.durable(fn, k.ids, [key]);
    return key;
  }

  async progress(fn: string, name: string, wanted?: () => boolean): Promise<FlowProgress | undefined> {
    const key = flowKey(this.options.keysOf(fn).jobs, name);
    const read = (redis: Redis | Cluster) => redis.hmget(key, 'done', 'failed', 'total');
    const values = await this.options.questions.ask(fn, 'Reading a flow', read, { wanted });
    const [done = 0, failed = 0, total = 0] = values.map(Number);
    return values.includes(null) ? undefined : { done, failed, total };
  }

  async cancel(fn: string, name: string, from: number) {
    const key = flowKey(this.options.keysOf(fn).jobs, name);
    const { message } = CANCELLED_WITH_FLOW;
    const info = JSON.stringify(CANCELLED_WITH_FLOW);
    const cancel = (redis: Redis | Cluster) =>
      cancelFlow.run(redis, [key, `${key}:jobs`], this.options.now(), from, message, info);
    const { ended, looked, total, functions } = await this.ask(fn, 'Cancelling a flow', cancel);
    await this.settle(fn, functions);
    return { ended, next: looked, isDone: looked >= total };
  }

  async members(fn: string, name: string, from: number, most: number): Promise<FlowMember[]> {
    const list = `${flowKey(this.options.keysOf(fn).jobs, name)}:jobs`;
    const entries = await this.ask(fn, 'Reading a flow', (redis) =>
      redis.lrange(list, from, from + most - 1),
    );
    return Promise.all(entries.flatMap((text) => this.memberOf(fn, text)));
  }

  /** Does what follows from ends of jobs, of functions with their names on the wire. */
  settle(fn: string, functions: Iterable<string>, review?: FlowReview): Promise<void> {
    const ask = <T>(question: (redis: Redis | Cluster) => Promise<T>) =>
      this.ask(fn, 'Settling jobs', question);
    return settleFunctions(ask, this.options.now, functions, review);
  }

  /** Does what follows from ends of jobs of this function, if that can be done now. A worker does it later otherwise. */
  async settleSoon(fn: string): Promise<void> {
    await this.settle(fn, [wireName(this.options.keysOf, fn)]).catch(() => undefined);
  }

  private memberOf(fn: string, text: string): Promise<FlowMember>[] {
    const entry = readEntry(text);
    if (!entry) return [];
    const key = `job:${entry.fn}:${entry.id}`;
    const read = async (redis: Redis | Cluster) => {
      const [status, after] = await redis.hmget(key, 'status', 'after');
      const parents = await redis.lrange(`${key}:parents`, 0, MAX_LISTS);
      const named = parents.flatMap((parent) => this.named(readEntry(parent)));
      const [shown] = this.named(entry);
      return {
        ...(shown ?? entry),
        status: (status ?? 'error') as JobStatus,
        waits: after !== null,
        parents: named,
      };
    };
    return [this.ask(fn, 'Reading a flow', read)];
  }

  private named(entry: FlowEntry | undefined): FlowEntry[] {
    const { keysOf, prefix } = this.options;
    return entry ? [{ ...entry, fn: nameFromWire(keysOf, entry.fn, prefix) ?? entry.fn }] : [];
  }

  private entriesOf(after: readonly JobOf[]): string[] {
    return after.map((job) => entryOf(this.options.keysOf, job));
  }

  /** On a cluster all functions have to be in one slot. @throws FlowSlotsError */
  private requireOneSlot(fn: string, jobs: readonly { readonly fn: string }[]): Promise<void> {
    const { keysOf } = this.options;
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

  /** Removes what was created. What can't be removed now is removed by workers later. */
  private async undo({ fn, key, created }: FlowBuilding): Promise<void> {
    try {
      await this.ask(fn, 'Creating a flow', (redis) => redis.del(key, `${key}:jobs`));
      for (const [name, ids] of created)
        for (const orphans of chunksOf(ids, MAX_JOBS)) await this.settle(fn, [name], { orphans });
    } catch {
      // The cause is thrown.
    }
  }

  private late(fn: string, error: ConnectionError): Error {
    return new EnqueueTimeoutError(fn, this.options.timeout, error.cause);
  }

  private ask<T>(fn: string, verb: string, question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.options.questions.ask(fn, verb, question);
  }
}

/** One try to create a flow: parts that come in order, so that each may be sent again. */
class FlowBuilding {
  readonly fn: string;
  readonly key: string;
  /** The ids of each function, with its name on the wire. */
  readonly created = new Map<string, string[]>();
  private readonly name = randomUUID();
  private readonly keys: EnqueuedKey[] = [];
  private part = 0;

  constructor(
    private readonly options: RedisFlowsOptions,
    private readonly jobs: readonly NewFlowJob[],
  ) {
    this.fn = jobs[0]?.fn ?? '';
    this.key = flowKey(options.keysOf(this.fn).jobs, this.name);
  }

  /** @throws UnknownParentError, and what the server answers */
  async build(after: readonly JobOf[]): Promise<NewFlow> {
    for (const [fn, numbers] of this.byFunction())
      for (const some of this.inParts(numbers)) await this.createJobs(fn, some);
    await this.writeLists();
    await this.begin(after);
    return { name: this.name, keys: this.keys };
  }

  private byFunction(): Map<string, number[]> {
    const numbers = new Map<string, number[]>();
    for (const [number, { fn }] of this.jobs.entries()) {
      const known = numbers.get(fn);
      if (known) known.push(number);
      else numbers.set(fn, [number]);
    }
    return numbers;
  }

  private *inParts(numbers: readonly number[]): Generator<number[]> {
    let part: number[] = [];
    let size = 0;
    for (const number of numbers) {
      part.push(number);
      size += this.jobs[number]?.input.length ?? 0;
      if (part.length < MAX_JOBS && size <= MAX_BATCH_SIZE) continue;
      yield part;
      [part, size] = [[], 0];
    }
    if (part.length > 0) yield part;
  }

  private async createJobs(fn: string, numbers: readonly number[]): Promise<void> {
    const { keysOf, created } = this.options;
    const k = keysOf(fn);
    const keys = [this.key, k.ids, k.jobs, k.scheduled, k.members];
    const mark = newMark();
    const jobs = numbers.flatMap((number) => this.argumentsOf(number));
    const [at, part, flow] = [created(), (this.part += 1), `${this.name}:${this.wire(this.fn)}`];
    const last = await this.ask((redis) =>
      flowJobs.run(redis, keys, part, KEPT_SECONDS, at, mark, flow, jobs),
    );
    const ids = this.created.get(this.wire(fn)) ?? [];
    this.created.set(this.wire(fn), ids);
    for (const [index, number] of numbers.entries()) {
      const id = String(last - numbers.length + 1 + index);
      ids.push(id);
      this.keys[number] = { id, mark: markAt(mark, index), created: true };
    }
  }

  private argumentsOf(number: number): Bytes[] {
    const { input, options, place, onParentError, parents, children } = this.jobs[number] as NewFlowJob;
    // The root waits for the flow to begin.
    const waits = number === 0 ? 1 : parents.length;
    return [input, options, writePlace(place), onParentError, String(waits), String(children.length)];
  }

  private async writeLists(): Promise<void> {
    let call: (string | number)[] = [];
    let lists = 0;
    const send = async () => {
      if (call.length === 0) return;
      const [part, sent] = [(this.part += 1), call];
      [call, lists] = [[], 0];
      await this.ask((redis) =>
        flowEdges.run(redis, [this.key, `${this.key}:jobs`], part, KEPT_SECONDS, sent),
      );
    };
    const write = async (list: string, numbers: readonly number[]) => {
      for (const some of chunksOf(numbers, MAX_ENTRIES)) {
        if (lists === MAX_LISTS || call.length + some.length > 2 * MAX_ENTRIES) await send();
        call.push(list, some.length, ...some.map((number) => this.entry(number)));
        lists += 1;
      }
    };
    await write(`${this.key}:jobs`, [...this.jobs.keys()]);
    for (const [number, { children, parents }] of this.jobs.entries()) {
      await write(`${this.jobKey(number)}:children`, children);
      await write(`${this.jobKey(number)}:parents`, parents);
    }
    await send();
  }

  private async begin(after: readonly JobOf[]): Promise<void> {
    const { keysOf, now } = this.options;
    const keys = [this.key, `${this.key}:jobs`, keysOf(this.fn).jobs];
    const { id = '', mark = 0 } = this.keys[0] ?? {};
    const parents = after.map((job) => entryOf(keysOf, job));
    const part = (this.part += 1);
    const unknown = await this.ask((redis) =>
      flowBegin.run(redis, keys, part, now(), `${id}:${mark}`, this.jobs.length, parents),
    );
    if (unknown > 0) throw unknownParent(after, unknown);
  }

  private entry(number: number): string {
    const { id = '', mark = 0 } = this.keys[number] ?? {};
    return entryOf(this.options.keysOf, { fn: this.jobs[number]?.fn ?? '', id, mark });
  }

  private jobKey(number: number): string {
    return this.options.keysOf(this.jobs[number]?.fn ?? '').jobs + this.keys[number]?.id;
  }

  private wire(fn: string): string {
    return wireName(this.options.keysOf, fn);
  }

  private ask<T>(question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.options.questions.ask(this.fn, 'Creating a flow', question);
  }
}

function entryOf(keysOf: KeysOf, { fn, id, mark }: JobOf): string {
  return writeEntry({ id, mark: mark === undefined ? '' : String(mark), fn: wireName(keysOf, fn) });
}

function unknownParent(after: readonly JobOf[], place: number): UnknownParentError {
  const { fn = '', id = '' } = after[place - 1] ?? {};
  return new UnknownParentError(fn, id);
}
