import type { Payload } from '../../../job/codec.js';
import { NotDurableError, PartlyEnqueuedError } from '../../../job/server-errors.js';
import type { EnqueuedKey } from './job-store.js';

/** Most jobs that one script call creates. */
export const MAX_BATCH = 250;
/** Most characters or bytes of a call. The server reads one call while it runs another, so several small ones are faster. */
export const MAX_BATCH_SIZE = 256 * 1024;

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
  if (inputs.length === 1) return enqueue(inputs, 0);
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
