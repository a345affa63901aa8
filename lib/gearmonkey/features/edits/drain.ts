import { InvalidOptionError } from '../../../job/errors.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import type { DrainedKind, DrainStep, EditStore } from './edit-store.js';

/**
 * Jobs that wait: `waiting` for a worker, `scheduled` for their time, or `retrying`: for their next attempt, or snoozed.
 */
export type WaitingState = 'waiting' | 'scheduled' | 'retrying';

/** Options of `drain`. */
export interface DrainJobsOptions {
  /** Which jobs are removed. @default all that wait */
  states?: readonly WaitingState[];
  /** Ends the drain; what was removed until then stays removed. */
  signal?: AbortSignal;
}

const STATES: readonly WaitingState[] = ['waiting', 'scheduled', 'retrying'];
const LISTS = ['high', 'normal', 'low'] as const;
const DRAIN = optionNames<DrainJobsOptions>({ states: true, signal: true });

/** Ends jobs that wait, step by step. Jobs that are created later stay, so that it comes to an end. Returns how many. */
export async function drain(store: EditStore, fn: string, options: DrainJobsOptions): Promise<number> {
  const { states, signal } = checkDrain(options);
  signal?.throwIfAborted();
  const last = await store.lastId(fn);
  let drained = 0;
  for (const part of partsOf(states)) {
    let cursor = '0';
    do {
      signal?.throwIfAborted();
      const step = await store.drain(fn, { ...part, last, cursor });
      drained += step.ids.length;
      cursor = step.cursor;
    } while (cursor !== '0');
  }
  return drained;
}

/** @throws ConfigurationError, InvalidOptionError */
function checkDrain(options: DrainJobsOptions) {
  const { states = STATES, signal } = checkOptions('drain', options, DRAIN);
  const isList =
    Array.isArray(states) && states.length > 0 && states.every((state) => STATES.includes(state));
  if (!isList)
    throw new InvalidOptionError('states', states, "a list of 'waiting', 'scheduled' and 'retrying'");
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function')
    throw new InvalidOptionError('signal', signal, 'an AbortSignal');
  return { states, signal };
}

/** The part of a function's waiting jobs that a step is about. */
type DrainPart = Pick<DrainStep, 'queue' | 'kind' | 'limited'>;

/** The queues of these states, lists first: what is tried again meanwhile is found in the other part. */
export function partsOf(states: readonly WaitingState[]): DrainPart[] {
  const [scheduled, retrying] = [states.includes('scheduled'), states.includes('retrying')];
  const kind = scheduled && retrying ? 'both' : scheduled ? 'scheduled' : 'retrying';
  const lists = states.includes('waiting') ? LISTS.map((queue) => ({ queue, kind: '' as const })) : [];
  const times = scheduled || retrying ? [{ queue: 'scheduled' as const, kind: kind as DrainedKind }] : [];
  // Jobs without a key come first: workers give keys to those.
  const parts = [...lists, ...times].map((part) => ({ ...part, limited: false }));
  // A job that becomes due before its step joins a list.
  const again = times.length > 0 ? lists : [];
  return [...parts, ...[...lists, ...times, ...again].map((part) => ({ ...part, limited: true }))];
}
