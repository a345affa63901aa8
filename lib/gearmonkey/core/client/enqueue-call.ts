import * as scripts from '../wire/scripts.js';
import type { Payload } from '../../../job/codec.js';
import type { UniqueRule } from '../../../job/unique.js';
import { OWN_OPTIONS } from '../wire/job-options.js';
import type { EnqueuedKey, PlacedUnique, Placement } from './job-store.js';
import type { Cluster, Redis } from 'ioredis';
import { systemClock, type Clock } from '../../../job/clock.js';
import { markAt, type FunctionKeys } from '../wire/protocol.js';
import { dueText, expiryAt } from './placement.js';
import { NotDurableError, PartlyEnqueuedError } from '../../../job/server-errors.js';

/** Most jobs that one script call creates. */
export const MAX_BATCH = 250;
/** Most characters or bytes of a call. The server reads one call while it runs another, so several small ones are faster. */
export const MAX_BATCH_SIZE = 256 * 1024;

/** What the jobs of a call have in common. */
export interface CallPlacement extends Pick<Placement, 'queue' | 'score' | 'delay' | 'expiresIn' | 'limit'> {
  /** Milliseconds, in place of `score` and `delay`. */
  readonly debounce?: number | undefined;
  /** Whether it goes after all calls before it, as one of a function with a strict order. */
  readonly inOrder?: true;
}

/** The unique key of one job. */
interface UniqueJob {
  readonly rule: UniqueRule;
  readonly key: string;
}

/** One call of the script, which creates jobs of one function and queue. */
export interface Call {
  readonly fn: string;
  readonly placement: CallPlacement;
  /** The mark of its first job. */
  readonly mark: number;
  readonly inputs: Payload[];
  /** The options of each job as JSON, or ''. */
  readonly options: string[];
  /** The key of each job of a function with a limit. */
  readonly limitKeys: string[];
  /** Most jobs that it takes if they are enqueued one by one. */
  readonly most: number;
  size: number;
  /** When it fails, by `performance.now()`. */
  readonly until: number;
  /** Unique jobs by their index; undefined if there are none. */
  unique?: Map<number, UniqueJob>;
  /** Jobs that the server has acknowledged; replicas may not have them yet. */
  acknowledged?: readonly EnqueuedKey[];
}

/** A call that takes more jobs until it is sent. */
export interface Batch extends Call {
  readonly keys: Promise<readonly EnqueuedKey[]>;
}

/** The queue of new jobs, and when they are due. */
export function callPlacementOf(placement: Placement): CallPlacement {
  const { queue, score, delay, expiresIn, unique, limit, inOrder } = placement;
  // Of debounced jobs of a key the last input is that of the last call.
  if (unique?.rule.kind === 'debounce')
    return { queue, expiresIn, debounce: unique.rule.span, inOrder: true };
  const limited = limit && { limit: { ...limit, keys: [] } };
  return { queue, score, delay, expiresIn, ...(inOrder && { inOrder }), ...limited };
}

/**
 * Which jobs share a call: those of a function without anything to say where they go, and others that say the same. Jobs
 * with tags are apart, so that those alone are refused if the user has no right to tags.
 */
export function callKeyOf(fn: string, placed: Placement): string {
  const { queue, score, delay, expiresIn, limit, unique, inOrder, options = '' } = placed;
  const isTagged = options !== '' && hasTags(options);
  const time = score ?? delay ?? expiresIn;
  const goesApart = limit !== undefined || inOrder || unique?.rule.kind === 'debounce' || isTagged;
  const isPlain = queue === 'normal' && time === undefined && !goesApart;
  // A function's name has no white space.
  return isPlain ? fn : ` ${JSON.stringify([fn, callPlacementOf(placed), isTagged])}`;
}

/** Whether options, as JSON, have tags. A user may have no right to their index. */
export function hasTags(options: string): boolean {
  return options.includes('"tags":') && (JSON.parse(options) as { tags?: unknown }).tags !== undefined;
}

/** Options are sent once if all jobs have the same. */
export function jobArguments({ inputs, options }: Call): [shared: string, jobs: Payload[]] {
  const [shared = ''] = options;
  if (options.every((own) => own === shared)) return [shared, inputs];
  return [OWN_OPTIONS, inputs.flatMap((input, index) => [input, options[index] ?? ''])];
}

/** Adds the unique keys of jobs whose inputs begin at `from`; `first` is the index of the first key. */
export function addUnique(
  call: Call,
  from: number,
  { rule, keys }: PlacedUnique,
  first: number,
  count: number,
): void {
  call.unique ??= new Map();
  for (let i = 0; i < count; i++) call.unique.set(from + i, { rule, key: keys[first + i] ?? '' });
}

/** Whether these jobs need another call. */
export function isFull(
  { inputs, size, most: joined, placement: { limit } }: Call,
  more: readonly Payload[],
): boolean {
  // A call is refused as a whole, so it has the jobs of one caller.
  if (limit?.onFull === 'refuse') return true;
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
  { sender, memorySeconds, clock, ways }: CreateOptions,
): Promise<EnqueuedKey[]> {
  const { inputs, mark, placement } = call;
  const { k } = sender;
  const now = (clock ?? systemClock).now();
  const { score, delay, debounce, expiresIn } = placement;
  const hasTimes = (score ?? delay ?? debounce ?? expiresIn) !== undefined;
  const times = hasTimes ? timesOf(placement, clock) : '';
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
