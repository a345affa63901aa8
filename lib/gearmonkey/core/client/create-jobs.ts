import type { Cluster, Redis } from 'ioredis';
import { systemClock, type Clock } from '../../../job/clock.js';
import { markAt, type FunctionKeys } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';
import { jobArguments, type Call, type CallPlacement } from './enqueue-call.js';
import type { EnqueuedKey } from './job-store.js';
import { dueText, expiryAt } from './placement.js';

/** Who creates jobs, and where. */
export interface CreateOptions {
  readonly k: FunctionKeys;
  readonly sender: { readonly key: string; readonly calls: number };
  /** Seconds for which the server remembers the call. */
  readonly memorySeconds: number;
  readonly clock?: Pick<Clock, 'now'> | undefined;
  readonly ways: readonly CreateWay[];
}

/** The arguments that the scripts have in common. */
export type Head = readonly [created: number, call: number, memorySeconds: number, mark: number];

/** What a feature's script gets beside the jobs. */
export interface CreateCall {
  readonly k: FunctionKeys;
  /** The key of the sender. */
  readonly sender: string;
  readonly head: Head;
  readonly times: scripts.Times;
  /** That of a test; '' is the server's time. */
  readonly time: number | '';
}

/** A feature's way to create jobs, with a script of its own. */
export interface CreateWay {
  wants(call: Call): boolean;
  /** Returns the jobs' keys, or the last id if all are new: they have ids in a row. */
  create(redis: Redis | Cluster, call: Call, how: CreateCall): Promise<number | EnqueuedKey[]>;
}

/** Creates the jobs of a call with the script that they need. @throws LimitFullError, ConfigurationError */
export async function createJobs(
  redis: Redis | Cluster,
  call: Call,
  { k, sender, memorySeconds, clock, ways }: CreateOptions,
): Promise<EnqueuedKey[]> {
  const { inputs, mark, placement } = call;
  const now = (clock ?? systemClock).now();
  const times = timesOf(placement, clock);
  const head: Head = [now, sender.calls, memorySeconds, mark];
  const isPlain = !call.unique && !placement.limit;
  const way = isPlain ? undefined : ways.find((one) => one.wants(call));
  const keys = [k.ids, k.jobs, k[placement.queue], k.channel, k.wake, sender.key];
  const last = way
    ? await way.create(redis, call, { k, sender: sender.key, head, times, time: clock ? now : '' })
    : await scripts.enqueue.run(redis, keys, ...head, times, ...jobArguments(call));
  if (typeof last !== 'number') return last;
  const first = last - inputs.length + 1;
  return inputs.map((_, index) => ({ id: String(first + index), mark: markAt(mark, index), created: true }));
}

/** Spans go by the server's clock, except in a test, whose clock the script of plain jobs doesn't know. */
function timesOf(
  { score, delay, debounce, expiresIn }: CallPlacement,
  clock: Pick<Clock, 'now'> | undefined,
): scripts.Times {
  const due = debounce === undefined ? dueText({ score, delay }, clock) : `+${debounce}`;
  if (expiresIn === undefined) return due;
  const ofTest = clock && debounce === undefined;
  return `${due}:${ofTest ? expiryAt({ score, delay, expiresIn }, clock.now()) : `+${expiresIn}`}`;
}
