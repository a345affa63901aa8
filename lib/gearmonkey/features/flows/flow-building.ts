import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { UnknownParentError } from '../../../job/flow-errors.js';
import { writeEntry, writePlace } from '../../../job/flows.js';
import { flowBegin, flowEdges, flowJobs } from './flow-scripts.js';
import { flowKey, markAt, newMark, type KeysOf } from '../../core/wire/protocol.js';
import type { Bytes } from '../../core/wire/scripts.js';
import { wireName } from '../../core/wire/wire-names.js';
import { MAX_BATCH_SIZE } from '../../core/client/enqueue-call.js';
import type { EnqueuedKey } from '../../core/client/enqueued-key.js';
import type { JobOf, NewFlow, NewFlowJob } from './flow-store.js';
import { explainOfFlows } from './flow-rights.js';
import type { StoreServer } from '../../core/client/store-server.js';

/** Most jobs of one call, and most entries and lists. */
const [MAX_JOBS, MAX_ENTRIES, MAX_LISTS] = [200, 1000, 250];
/** Seconds behind the last call for which the server keeps the jobs of a flow that has not begun, besides those that a call may take. */
const KEPT_SECONDS = 10;

/** One try to create a flow: parts that come in order, so that each may be sent again. */
export class FlowBuilding {
  readonly fn: string;
  readonly key: string;
  /** The ids of each function, with its name on the wire. */
  readonly created = new Map<string, string[]>();
  private readonly name = randomUUID();
  private readonly keys: EnqueuedKey[] = [];
  private part = 0;

  constructor(
    private readonly server: StoreServer,
    private readonly jobs: readonly NewFlowJob[],
  ) {
    this.fn = jobs[0]?.fn ?? '';
    this.key = flowKey(server.keysOf(this.fn).jobs, this.name);
  }

  /** Seconds. */
  private get kept(): number {
    return KEPT_SECONDS + Math.ceil((2 * this.server.timeout) / 1000);
  }

  /** Returns whether the root has ended at once. @throws UnknownParentError, and what the server answers */
  async build(after: readonly JobOf[]): Promise<{ readonly hasEnded: boolean }> {
    for (const [fn, numbers] of this.byFunction())
      for (const some of this.inParts(numbers)) await this.createJobs(fn, some);
    await this.writeLists();
    return { hasEnded: await this.begin(after) };
  }

  /** The flow, once it has begun. */
  get flow(): NewFlow {
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
    const { keysOf, created } = this.server;
    const k = keysOf(fn);
    const keys = [this.key, k.ids, k.jobs, k.scheduled, k.members];
    const mark = newMark();
    const jobs = numbers.flatMap((number) => this.argumentsOf(number));
    const [at, part, flow] = [created(), (this.part += 1), `${this.name}:${this.wire(this.fn)}`];
    const { kept } = this;
    const last = await this.ask((redis) => flowJobs.run(redis, keys, part, kept, at, mark, flow, jobs));
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
      await this.ask((redis) => flowEdges.run(redis, [this.key, `${this.key}:jobs`], part, this.kept, sent));
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

  private async begin(after: readonly JobOf[]): Promise<boolean> {
    const { keysOf, now } = this.server;
    const keys = [this.key, `${this.key}:jobs`, keysOf(this.fn).jobs];
    const { id = '', mark = 0 } = this.keys[0] ?? {};
    const parents = after.map((job) => entryOf(keysOf, job));
    const part = (this.part += 1);
    const unknown = await this.ask((redis) =>
      flowBegin.run(redis, keys, part, now(), `${id}:${mark}`, this.jobs.length, parents),
    );
    if (unknown > 0) throw unknownParent(after, unknown);
    return unknown < 0;
  }

  private entry(number: number): string {
    const { id = '', mark = 0 } = this.keys[number] ?? {};
    return entryOf(this.server.keysOf, { fn: this.jobs[number]?.fn ?? '', id, mark });
  }

  private jobKey(number: number): string {
    return this.server.keysOf(this.jobs[number]?.fn ?? '').jobs + this.keys[number]?.id;
  }

  private wire(fn: string): string {
    return wireName(this.server.keysOf, fn);
  }

  private ask<T>(question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.server.questions.ask(this.fn, 'Creating a flow', question, { explain: explainOfFlows });
  }
}

/** A job as lists of flows have it. */
export function entryOf(keysOf: KeysOf, { fn, id, mark }: JobOf): string {
  return writeEntry({ id, mark: mark === undefined ? '' : String(mark), fn: wireName(keysOf, fn) });
}

/** @param place of the parent that doesn't exist, from 1 */
export function unknownParent(after: readonly JobOf[], place: number): UnknownParentError {
  const { fn = '', id = '' } = after[place - 1] ?? {};
  return new UnknownParentError(fn, id);
}
