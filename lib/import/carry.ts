import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { createJobs, type Call } from '../gearmonkey/core/client/enqueue-call.js';
import type { EnqueuedKey } from '../gearmonkey/core/client/enqueued-key.js';
import type { CreateWay } from '../gearmonkey/core/client/placement.js';
import { FunctionIndex } from '../gearmonkey/core/wire/function-index.js';
import { newMark, type KeysOf } from '../gearmonkey/core/wire/protocol.js';
import { createUnique } from '../gearmonkey/features/unique/create-unique.js';
import { defined } from '../job/defined.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { askServer } from './ask-server.js';
import type { PlannedJob } from './found-job.js';

/** How long a function's server remembers a batch that was not finished: an import may be continued so much later. */
const MEMORY_SECONDS = 400 * 24 * 3600;
/** The same once the import has ended: another process may still have a call of it under way. */
const AFTERWARDS_SECONDS = 24 * 3600;

/** For each function of a step what names its keys on their server. */
export type Destinations = Readonly<Record<string, string>>;

/** A batch of jobs that have left their queue. */
export interface TakenBatch {
  /** The import's name. */
  readonly name: string;
  /** Each batch has a higher one. */
  readonly number: number;
  readonly jobs: readonly PlannedJob[];
}

/** Creates jobs in functions, each once, however often a batch is carried. */
export class Carrier {
  private readonly senders = new Set<string>();
  private readonly index: FunctionIndex;
  private readonly destinations = new Map<string, string>();

  constructor(
    private readonly target: RedisConnection,
    private readonly keysOf: KeysOf,
    /** Milliseconds that the server may take to answer. */
    private readonly patience: number,
  ) {
    this.index = new FunctionIndex(keysOf);
  }

  private ask<T>(question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return askServer(this.target, question, this.patience);
  }

  /** A step that was begun for one server, or other keys, must not be ended on another: it may have been carried there. */
  async destinationsOf(functions: Iterable<string>): Promise<Destinations> {
    const found = new Map<string, string>();
    for (const fn of new Set(functions)) found.set(fn, await this.destinationOf(fn));
    return Object.fromEntries(found);
  }

  /** The key that has what tells the function's keys from those of other servers. */
  destinationKey(fn: string): string {
    return `${this.keysOf(fn).senders}import`;
  }

  private async destinationOf(fn: string): Promise<string> {
    const known = this.destinations.get(fn);
    if (known !== undefined) return known;
    const key = this.destinationKey(fn);
    const destination = await this.ask(async (redis) => {
      await redis.set(key, randomUUID(), 'EX', MEMORY_SECONDS, 'NX');
      return (await redis.get(key)) ?? '';
    });
    this.destinations.set(fn, destination);
    return destination;
  }

  /**
   * Jobs that go to the same place are one call. A call has a sender of its own, by its place in the batch, so that the server
   * knows for each whether it was made. Jobs whose unique key has a job already are created without it: none may be lost.
   */
  async carry({ name, number, jobs }: TakenBatch): Promise<void> {
    const calls = groupsOf(jobs).map(async (group, index) => {
      const created = await this.create(group, `${name}:${index}`, number);
      const refused = group.filter((_, at) => created[at]?.created === false);
      const [first] = refused;
      if (!first || !(await this.isLast(first.fn, `${name}:${index}`, number))) return;
      await this.create(refused.map(withoutKey), `${name}:${index}:again`, number);
    });
    // All have to end before an error is thrown: what goes on would be carried while the program ends.
    for (const result of await Promise.allSettled(calls))
      if (result.status === 'rejected') throw result.reason;
  }

  /** The import is over. */
  async forget(): Promise<void> {
    for (const key of this.senders) await this.ask((redis) => redis.expire(key, AFTERWARDS_SECONDS));
  }

  /**
   * Whether the reply to a call was its own. A late one gets that of a later step, which says nothing of its jobs: another import
   * has created them all, since it has ended their step.
   */
  private async isLast(fn: string, sender: string, number: number): Promise<boolean> {
    const known = await this.ask((redis) => redis.get(this.senderKey(fn, sender)));
    return known?.startsWith(`${number}:`) ?? false;
  }

  private senderKey(fn: string, sender: string): string {
    return `${this.keysOf(fn).senders}import:${sender}`;
  }

  private create(jobs: readonly PlannedJob[], sender: string, number: number): Promise<EnqueuedKey[]> {
    const call = callOf(jobs);
    const k = this.keysOf(call.fn);
    const key = this.senderKey(call.fn, sender);
    this.senders.add(key);
    this.index.note(() => this.target.ready(), [call.fn]);
    return this.ask((redis) =>
      createJobs(redis, call, {
        sender: { key, calls: number, k },
        memorySeconds: MEMORY_SECONDS,
      }),
    );
  }
}

/** Jobs by where they go, in the order of the first of each: a batch always has the same groups. */
function groupsOf(jobs: readonly PlannedJob[]): PlannedJob[][] {
  const groups = new Map<string, PlannedJob[]>();
  for (const job of jobs) {
    const { fn, queue, due = '' } = job;
    const place = JSON.stringify([fn, queue, due]);
    const group = groups.get(place);
    if (group) group.push(job);
    else groups.set(place, [job]);
  }
  return [...groups.values()];
}

function withoutKey(job: PlannedJob): PlannedJob {
  return defined({ ...job, key: undefined });
}

function callOf(jobs: readonly PlannedJob[]): Call {
  const [{ fn, queue, due }] = jobs as readonly [PlannedJob];
  const inputs = jobs.map(({ input, base64 }) => (base64 ? Buffer.from(input, 'base64') : input));
  const rule = { kind: 'unfinished' } as const;
  const each = jobs.map(({ key }) => (key === undefined ? undefined : { rule, key }));
  return {
    ...{ fn, inputs, mark: newMark(), most: jobs.length, size: 0, until: Infinity },
    placement: { queue, ...(due !== undefined && { score: due / 1000 }) },
    options: jobs.map(({ options }) => options),
    ...(each.some((one) => one) && { way: createUnique as CreateWay, each }),
  };
}
