import type { Cluster, Redis } from 'ioredis';
import { systemClock, type Clock } from '../../../job/clock.js';
import { LimitFullError } from '../../../job/limit-errors.js';
import { rulesText } from '../../features/limits/limit-rules.js';
import { enqueueLimited } from '../../features/limits/limit-scripts.js';
import { markAt, type FunctionKeys } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';
import {
  jobArguments,
  limitedArguments,
  readPlaced,
  uniqueArguments,
  type Call,
  type CallPlacement,
} from './enqueue-call.js';
import type { EnqueuedKey } from './job-store.js';
import { dueText, expiryAt } from './placement.js';

/** Who creates jobs, and where. */
export interface CreateOptions {
  readonly k: FunctionKeys;
  readonly sender: { readonly key: string; readonly calls: number };
  /** Seconds for which the server remembers the call. */
  readonly memorySeconds: number;
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** The arguments that the scripts have in common. */
type Head = readonly [created: number, call: number, memorySeconds: number, mark: number];

/** Creates the jobs of a call with the script that they need. @throws LimitFullError, ConfigurationError */
export async function createJobs(
  redis: Redis | Cluster,
  call: Call,
  { k, sender, memorySeconds, clock }: CreateOptions,
): Promise<EnqueuedKey[]> {
  const { inputs, mark, placement } = call;
  const keys = [k.ids, k.jobs, k[placement.queue], k.channel, k.wake, sender.key];
  const now = (clock ?? systemClock).now();
  const times = timesOf(placement, clock);
  const head: Head = [now, sender.calls, memorySeconds, mark];
  const time = clock ? now : '';
  if (call.unique) {
    const uniqueKeys = [...keys, k.unique, k.scheduled, k.locks];
    const placed = await scripts.unique.run(redis, uniqueKeys, ...head, times, time, uniqueArguments(call));
    return readPlaced(placed, mark);
  }
  const last = placement.limit
    ? await createLimited(redis, call, { k, sender: sender.key, time }, head, times)
    : await scripts.enqueue.run(redis, keys, ...head, times, ...jobArguments(call));
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

async function createLimited(
  redis: Redis | Cluster,
  call: Call,
  { k, sender, time }: { k: FunctionKeys; sender: string; time: number | '' },
  head: Head,
  times: scripts.Times,
): Promise<number> {
  const { queue, limit } = call.placement;
  if (!limit) throw new Error('These jobs have no limit.');
  const priority = queue === 'scheduled' ? 'normal' : queue;
  const onFull = limit.onFull === 'replace' && limit.replace === 'running' ? 'replace-running' : limit.onFull;
  const keys = [k.ids, k.jobs, k.locks, k.leases, k.channel, k.cancel, k.wake, sender, k.control, k.limits];
  const [rules, shared] = rulesText(call.fn, limit.rules, k);
  const jobs = limitedArguments(call);
  const reply = await enqueueLimited.run(
    redis,
    keys,
    ...head,
    times,
    priority,
    time,
    rules,
    shared,
    onFull,
    jobs,
  );
  if (typeof reply === 'number') return reply;
  throw new LimitFullError(call.fn, reply.key, reply.until === undefined ? undefined : new Date(reply.until));
}
