import type { Cluster, Redis } from 'ioredis';
import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { Bytes, Now } from '../../core/wire/scripts.js';

const defineScript = scriptsIn(LUA);

/** Most pairs of jobs that one call looks at: more would block the server. */
const STEP = 50;
/** Most calls in a row, for flows of any size that is allowed. */
const MOST_CALLS = 100_000;

/** Creates jobs of a flow that has not begun: six values each. Returns the id of the last; the others precede it. */
export const flowJobs = defineScript<
  [part: number, kept: number, created: number, mark: number, flow: string, jobs: Bytes[]],
  number
>('flow-jobs', (reply) => reply as number);

/** Writes lists: for each its key, how many entries follow, and these. */
export const flowEdges = defineScript<
  [part: number, kept: number, lists: readonly (string | number)[]],
  number
>('flow-edges', (reply) => reply as number);

/** Returns 0, the place of the first parent that there is not, from 1, or -1 if the root has ended at once. */
export const flowBegin = defineScript<
  [part: number, now: Now, root: string, total: number, parents: readonly string[]],
  number
>('flow-begin', (reply) => reply as number);

/** Returns the id, or below 0 the place of the first parent that there is not, from 1; and whether the job has ended at once. */
export const enqueueAfter = defineScript<
  [
    created: number,
    call: number,
    memorySeconds: number,
    mark: number,
    now: Now,
    input: Bytes,
    options: string,
    place: string,
    onParentError: string,
    parents: readonly string[],
  ],
  { readonly id: number; readonly hasEnded: boolean }
>('enqueue-after', (reply) => {
  const [id] = [reply].flat() as [number];
  return { id, hasEnded: Array.isArray(reply) };
});

/** A part of a flow's cancellation. */
export interface CancelledPart {
  readonly ended: number;
  /** How many of the flow's jobs were looked at, of how many. */
  readonly looked: number;
  readonly total: number;
  /** Functions that have to be settled, with their names on the wire. */
  readonly functions: readonly string[];
}

export const cancelFlow = defineScript<
  [now: Now, from: number, message: string, error: string],
  CancelledPart
>('cancel-flow', (reply) => {
  const [ended, looked, total, ...functions] = reply as [number, number, number, ...Buffer[]];
  return { ended, looked, total, functions: functions.map(String) };
});

/** Removes a flow unless it has begun; returns whether it has. */
export const flowAbandon = defineScript<[], boolean>('flow-abandon', (reply) => reply === 1);

/** What a call has found. Functions have their names on the wire. */
interface Settled {
  readonly more: boolean;
  /** Functions that have to be settled. */
  readonly others: readonly string[];
  /** Functions to look at. */
  readonly awaited: readonly string[];
  /** What went wrong, or ''. */
  readonly problem: string;
}

const settleFlows = defineScript<
  [now: Now, most: number, review: 0 | 1, orphans: readonly string[]],
  Settled
>('settle-flows', (reply) => {
  const [more, others, awaited, problem] = reply as [number, Buffer[], Buffer[], Buffer];
  return {
    more: more === 1,
    others: others.map(String),
    awaited: awaited.map(String),
    problem: String(problem),
  };
});

/** Asks the server, repeatedly if it can't be reached. */
export type Ask = <T>(question: (redis: Redis | Cluster) => Promise<T>) => Promise<T>;

/** What to look for besides ends that are known. */
export interface FlowReview {
  /** Whether to look for members that plain workers have ended, and for jobs whose flow never began. */
  readonly review?: boolean;
  /** Ids of jobs whose flow may never have begun. */
  readonly orphans?: readonly string[];
}

/**
 * Does what follows from ends of jobs of flows, in this function and those that come up. Names are those on the wire.
 *
 * @throws what the server answered for a job that could not be settled, once all others are
 */
export async function settleFunctions(
  ask: Ask,
  now: () => Now,
  functions: Iterable<string>,
  { review = false, orphans = [] }: FlowReview = {},
): Promise<void> {
  // With the names: whether to look for more.
  const waiting = new Map([...functions].map((fn) => [fn, review]));
  const looked = new Set<string>();
  let problem = '';
  for (let calls = 0; calls < MOST_CALLS; calls++) {
    const [next] = waiting;
    if (!next) break;
    const [fn, also] = next;
    if (also) looked.add(fn);
    const keys = [`queue:${fn}:flows`, `job:${fn}:`];
    const reply = await ask((redis) =>
      settleFlows.run(redis, keys, now(), STEP, also ? 1 : 0, calls === 0 ? orphans : []),
    );
    waiting.set(fn, false);
    if (!reply.more) waiting.delete(fn);
    for (const other of reply.others) if (!waiting.has(other)) waiting.set(other, false);
    for (const other of reply.awaited) if (!looked.has(other)) waiting.set(other, true);
    problem ||= reply.problem;
  }
  if (problem !== '') throw new Error(problem);
}
