import type { Payload } from '../../../job/codec.js';
import { LimitFullError } from '../../../job/limit-errors.js';
import type { CreateWay, Call } from '../../core/client/enqueue-call.js';
import { rulesText } from './limit-rules.js';
import { enqueueLimited } from './limit-scripts.js';

/** Creates jobs of a function with a limit. @throws LimitFullError */
export const createLimited: CreateWay = {
  wants: (call) => call.unique === undefined && call.placement.limit !== undefined,

  async create(redis, call, { k, sender, head, times, time }) {
    const { queue, limit } = call.placement;
    if (!limit) throw new Error('These jobs have no limit.');
    const priority = queue === 'scheduled' ? 'normal' : queue;
    const onFull =
      limit.onFull === 'replace' && limit.replace === 'running' ? 'replace-running' : limit.onFull;
    const keys = [k.ids, k.jobs, k.locks, k.leases, k.channel, k.cancel, k.wake, sender, k.control, k.limits];
    const [rules, shared] = rulesText(call.fn, limit.rules, k);
    const jobs = limitedArguments(call);
    const rest = [times, priority, time, rules, shared, onFull, jobs] as const;
    const reply = await enqueueLimited.run(redis, keys, ...head, ...rest);
    if (typeof reply === 'number') return reply;
    const until = reply.until === undefined ? undefined : new Date(reply.until);
    throw new LimitFullError(call.fn, reply.key, until);
  },
};

/** Input, options and key of each job. */
function limitedArguments({ inputs, options, limitKeys }: Call): Payload[] {
  return inputs.flatMap((input, index) => [input, options[index] ?? '', limitKeys[index] ?? '']);
}
