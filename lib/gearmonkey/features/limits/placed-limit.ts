import { checkPriority } from '../../../job/check-limit.js';
import type { Limit } from '../../../job/limit.js';
import type { PlaceHook } from '../../core/client/new-jobs.js';
import type { CreateWay, FeatureJobs, Placement } from '../../core/client/placement.js';
import type { Payload } from '../../../job/codec.js';
import { LimitFullError } from '../../../job/limit-errors.js';
import { rulesText } from './limit-rules.js';
import { enqueueLimited } from './limit-scripts.js';

/** A new job of a function with a limit. */
export interface LimitedJob {
  readonly limit: Pick<Limit, 'rules' | 'onFull' | 'replace'>;
  readonly key: string;
}

/** Creates jobs of a function with a limit. @throws LimitFullError */
const createLimited: CreateWay<LimitedJob> = {
  async create(redis, { fn, placement, inputs, options }, each, { k, sender, head, times, time }) {
    const limit = each[0]?.limit;
    if (!limit) throw new Error('These jobs have no limit.');
    const { queue } = placement;
    const priority = queue === 'scheduled' ? 'normal' : queue;
    const onFull =
      limit.onFull === 'replace' && limit.replace === 'running' ? 'replace-running' : limit.onFull;
    const keys = [k.ids, k.jobs, k.locks, k.leases, k.channel, k.cancel, k.wake, sender, k.control, k.limits];
    const [rules, shared] = rulesText(fn, limit.rules, k);
    const jobs = inputs.flatMap((input, index): Payload[] => [
      input,
      options[index] ?? '',
      each[index]?.key ?? '',
    ]);
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
    const until = reply.until === undefined ? undefined : new Date(reply.until);
    throw new LimitFullError(fn, reply.key, until);
  },
};

/** The place of new jobs with a limit and these keys. */
export function placeLimited(
  placement: Placement,
  { rules, onFull, replace }: LimitedJob['limit'],
  keys: readonly string[],
): Placement {
  const limit = { rules, onFull, replace };
  return {
    ...placement,
    ...(rules.order === 'strict' && { inOrder: true as const }),
    ...(onFull === 'refuse' && { alone: true as const }),
    apart: JSON.stringify(limit),
    feature: {
      way: createLimited,
      each: keys.map((key) => ({ limit, key })),
      // A worker gives jobs of other features their key; then it is too late to refuse them.
      ...(onFull !== 'wait' && { insists: `absent when the limit says onFull: '${onFull}'` }),
    },
  };
}

/** What limits know of new jobs; undefined if they don't create them. */
export function limitedJobsIn({ feature }: Placement): FeatureJobs<LimitedJob> | undefined {
  return feature?.way === createLimited ? (feature as FeatureJobs<LimitedJob>) : undefined;
}

/** Adds the keys of a function's limit. */
export const placeKeys: PlaceHook = {
  place(functions, ref, placement, _, inputs) {
    const limit = functions.setting(ref, 'limit');
    if (!limit) return placement;
    checkPriority(limit, placement.queue);
    return placeLimited(
      placement,
      limit,
      inputs.map((input) => limit.keyOf(input)),
    );
  },
};
