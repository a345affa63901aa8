import * as scripts from '../wire/scripts.js';
import type { Payload } from '../../../job/codec.js';
import { OWN_OPTIONS } from '../wire/job-options.js';
import type { EnqueuedKey } from './enqueued-key.js';
import type { Cluster, Redis } from 'ioredis';
import { systemClock, type Clock } from '../../../job/clock.js';
import { markAt, type FunctionKeys } from '../wire/protocol.js';
import {
  dueText,
  expiryAt,
  type CallPlacement,
  type CreateWay,
  type FeatureJobs,
  type Head,
  type JobsOfCall,
  type Placement,
} from './placement.js';
import { NotDurableError, PartlyEnqueuedError } from '../../../job/server-errors.js';

/** Most jobs that one script call creates. */
export const MAX_BATCH = 250;
/** Most characters or bytes of a call. The server reads one call while it runs another, so several small ones are faster. */
export const MAX_BATCH_SIZE = 256 * 1024;

/** One call of the script, which creates jobs of one function and queue. */
export interface Call extends JobsOfCall {
  readonly inputs: Payload[];
  readonly options: string[];
  /** Most jobs that it takes if they are enqueued one by one. */
  readonly most: number;
  size: number;
  /** When it fails, by `performance.now()`. */
  readonly until: number;
  /** That of the feature which creates its jobs, and what it knows of each, by index. */
  way?: CreateWay;
  each?: unknown[];
  /** Jobs that the server has acknowledged; replicas may not have them yet. */
  acknowledged?: readonly EnqueuedKey[];
}

/** A call that takes more jobs until it is sent. */
export interface Batch extends Call {
  readonly keys: Promise<readonly EnqueuedKey[]>;
}

/** What the call of new jobs is about. */
export function callPlacementOf(placed: Placement): CallPlacement {
  const { queue, score, delay, expiresIn, inOrder, apart, alone } = placed;
  return { queue, score, delay, expiresIn, inOrder, apart, alone };
}

/** Which jobs share a call: those of a function without anything to say where they go, and others that say the same. */
export function callKeyOf(fn: string, placed: Placement): string {
  const { queue, score, delay, expiresIn, inOrder, apart } = placed;
  const isPlain = queue === 'normal' && (score ?? delay ?? expiresIn ?? inOrder ?? apart) === undefined;
  // A function's name has no white space.
  return isPlain ? fn : ` ${JSON.stringify([fn, callPlacementOf(placed)])}`;
}

/** Options are sent once if all jobs have the same. */
export function jobArguments({ inputs, options }: Call): [shared: string, jobs: Payload[]] {
  const [shared = ''] = options;
  if (options.every((own) => own === shared)) return [shared, inputs];
  return [OWN_OPTIONS, inputs.flatMap((input, index) => [input, options[index] ?? ''])];
}

/** Leaves a call to a feature, which knows jobs whose inputs begin at `from`; `first` is the index of the first in what it says. */
export function giveTo(
  call: Call,
  from: number,
  { way, each }: FeatureJobs,
  first: number,
  count: number,
): void {
  call.way = way;
  call.each ??= [];
  for (let i = 0; i < count; i++) call.each[from + i] = each[first + i];
}

/** Whether these jobs need another call. */
export function isFull(
  { inputs, size, most: joined, placement: { alone } }: Call,
  more: readonly Payload[],
): boolean {
  if (alone) return true;
  const most = more.length === 1 ? joined : MAX_BATCH;
  return inputs.length + more.length > most || size > MAX_BATCH_SIZE;
}

/** Lets no more jobs join the open calls of a function that go in order: a new one goes behind them. */
export function closeInOrder(batches: Map<string, Batch>, fn: string): void {
  for (const [key, batch] of batches) if (batch.fn === fn && batch.placement.inOrder) batches.delete(key);
}

/** The jobs that are new, without those that were there before. */
export function createdOf(keys: readonly EnqueuedKey[]): string[] {
  return keys.filter(({ created }) => created).map(({ id }) => id);
}

/** Its calls are numbered and go one after the other, so that one that is sent again after a lost reply creates nothing twice. */
export interface Sender {
  readonly key: string;
  /** Those of its function. */
  readonly k: FunctionKeys;
  calls: number;
  /** How many calls have not ended. */
  open: number;
  last: Promise<unknown>;
}

/** Who creates jobs, and where. */
export interface CreateOptions {
  readonly sender: Pick<Sender, 'key' | 'calls' | 'k'>;
  /** Seconds for which the server remembers the call. */
  readonly memorySeconds: number;
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** Creates the jobs of a call with the script that they need. @throws LimitFullError, ConfigurationError */
export async function createJobs(
  redis: Redis | Cluster,
  call: Call,
  { sender, memorySeconds, clock }: CreateOptions,
): Promise<EnqueuedKey[]> {
  const { inputs, mark, placement, way, each = [] } = call;
  const { k } = sender;
  const now = (clock ?? systemClock).now();
  const { score, delay, expiresIn } = placement;
  // A feature's script knows the clock of a test.
  const times =
    (score ?? delay ?? expiresIn) === undefined ? '' : timesOf(placement, way ? undefined : clock);
  const head: Head = [now, sender.calls, memorySeconds, mark];
  const keys = [k.ids, k.jobs, k[placement.queue], k.channel, k.wake, sender.key];
  const last = way
    ? await way.create(redis, call, each, { k, sender: sender.key, head, times, time: clock ? now : '' })
    : await scripts.enqueue.run(redis, keys, ...head, times, ...jobArguments(call));
  if (typeof last !== 'number') return last;
  const first = last - inputs.length + 1;
  return inputs.map((_, index) => ({ id: String(first + index), mark: markAt(mark, index), created: true }));
}

/** Spans go by the server's clock, except in a test, whose clock the script of plain jobs doesn't know. */
function timesOf(
  { score, delay, expiresIn }: CallPlacement,
  clock: Pick<Clock, 'now'> | undefined,
): scripts.Times {
  const due = dueText({ score, delay }, clock);
  if (expiresIn === undefined) return due;
  return `${due}:${clock ? expiryAt({ score, delay, expiresIn }, clock.now()) : `+${expiresIn}`}`;
}

/**
 * Splits jobs that are too many for one call into parts, with a limited number under way. The timeout of each part begins
 * when it is passed on. After a failure no more parts are begun, and those under way are awaited.
 *
 * @throws as `enqueue` · NotDurableError, PartlyEnqueuedError with the ids of all that were created
 */
export function inParts(
  fn: string,
  inputs: readonly Payload[],
  atATime: number,
  enqueue: EnqueuePart,
): Promise<EnqueuedKey[]> {
  const parts = [...partsOf(inputs)];
  return parts.length === 1 ? enqueue(inputs, 0) : enqueueParts(fn, inputs, parts, atATime, enqueue);
}

type EnqueuePart = (part: readonly Payload[], from: number) => Promise<EnqueuedKey[]>;

async function enqueueParts(
  fn: string,
  inputs: readonly Payload[],
  parts: readonly Part[],
  atATime: number,
  enqueue: EnqueuePart,
): Promise<EnqueuedKey[]> {
  const enqueued: EnqueuedKey[][] = parts.map(() => []);
  let answered = 0;
  const failures: unknown[] = [];
  const waiting = parts.entries();
  const addNext = async () => {
    for (const [index, { part, from }] of waiting) {
      if (failures.length > 0) return;
      try {
        enqueued[index] = await enqueue(part, from);
        answered += 1;
      } catch (error) {
        failures.push(error);
        if (!(error instanceof NotDurableError)) continue;
        enqueued[index] = error.ids.map((id) => ({ id, created: true }));
        answered += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: atATime }, addNext));
  const all = enqueued.flat();
  if (failures.length > 0) throw failureOf(fn, failures, all, inputs.length, answered === parts.length);
  return all;
}

/** The jobs of several calls that are under way. @throws as `inParts` */
export async function allOf(
  fn: string,
  calls: readonly Promise<EnqueuedKey[]>[],
  asked: number,
): Promise<EnqueuedKey[]> {
  const ended = await Promise.allSettled(calls);
  const all = ended.flatMap((one) => (one.status === 'fulfilled' ? one.value : knownOf(one.reason)));
  const failures: unknown[] = ended.flatMap((one) => (one.status === 'fulfilled' ? [] : [one.reason]));
  if (failures.length === 0) return all;
  const isWhole = failures.every((failure) => failure instanceof NotDurableError);
  throw failureOf(fn, failures, all, asked, isWhole);
}

function knownOf(failure: unknown): EnqueuedKey[] {
  const isPartly = failure instanceof NotDurableError || failure instanceof PartlyEnqueuedError;
  return isPartly ? failure.ids.map((id) => ({ id, created: true })) : [];
}

/** The first failure, with the ids of the jobs that were created nevertheless. Jobs that were there before are not named. */
function failureOf(
  fn: string,
  failures: readonly unknown[],
  enqueued: readonly EnqueuedKey[],
  asked: number,
  isWhole: boolean,
) {
  const ids = enqueued.filter(({ created }) => created).map(({ id }) => id);
  const failure = failures.find((error) => !(error instanceof NotDurableError)) ?? failures[0];
  if (failure instanceof NotDurableError && isWhole) return new NotDurableError(fn, ids, failure.reason);
  return ids.length === 0 ? failure : new PartlyEnqueuedError(fn, ids, asked, failure);
}

interface Part {
  readonly part: Payload[];
  /** The index of its first input. */
  readonly from: number;
}

/** Splits inputs into parts, one for each call. */
function* partsOf(inputs: readonly Payload[]): Generator<Part> {
  let part: Payload[] = [];
  let [size, from] = [0, 0];
  for (const input of inputs) {
    part.push(input);
    size += input.length;
    if (part.length < MAX_BATCH && size <= MAX_BATCH_SIZE) continue;
    yield { part, from };
    from += part.length;
    [part, size] = [[], 0];
  }
  if (part.length > 0) yield { part, from };
}
