import type { Payload } from '../../../job/codec.js';
import type { UniqueRule } from '../../../job/unique.js';
import { scriptsIn } from '../../../redis/script.js';
import type { EnqueuedKey } from '../../core/client/enqueued-key.js';
import type { CreateWay, JobsOfCall, Placement } from '../../core/client/placement.js';
import { markAt } from '../../core/wire/protocol.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { Bytes, Now, Times } from '../../core/wire/scripts.js';

const defineScript = scriptsIn(LUA);

/**
 * As `enqueue`, for jobs of which some are unique: four values each. A debounce is a span of `times`.
 * Returns for each job the id of the new one, or "id:mark" of the job that stands for it.
 */
export const unique = defineScript<
  [
    created: number,
    call: number,
    memorySeconds: number,
    mark: number,
    times: Times,
    clock: Now,
    jobs: Bytes[],
  ],
  string[]
>('unique', (reply) => (reply as Buffer[]).map(String));

/** A new job with a unique key. */
export interface UniqueJob {
  readonly rule: UniqueRule;
  readonly key: string;
}

/** Creates jobs of which some are unique: others may stand for them. */
export const createUnique: CreateWay<UniqueJob> = {
  async create(redis, call, each, { k, sender, head, times, time }) {
    const keys = [
      k.ids,
      k.jobs,
      k[call.placement.queue],
      k.channel,
      k.wake,
      sender,
      k.unique,
      k.scheduled,
      k.locks,
    ];
    const jobs = uniqueArguments(call, each);
    return readPlaced(await unique.run(redis, keys, ...head, times, time, jobs), call.mark);
  },
};

/** Whether a later call may replace input, options and time of these jobs. */
export function areDebounced({ feature }: Placement): boolean {
  return (
    feature?.way === createUnique && (feature.each[0] as UniqueJob | undefined)?.rule.kind === 'debounce'
  );
}

/** Four values for each job, as the script for unique jobs takes them. */
function uniqueArguments(
  { inputs, options }: JobsOfCall,
  each: readonly (UniqueJob | undefined)[],
): Payload[] {
  return inputs.flatMap((input, index) => {
    const { rule, key = '' } = each[index] ?? {};
    return [input, options[index] ?? '', rule ? textOf(rule) : '', key];
  });
}

/** A rule as it is on the wire. */
function textOf(rule: UniqueRule): string {
  if (rule.kind === 'throttle') return `throttle:${rule.span}`;
  return rule.kind === 'debounce' ? `debounce:${rule.span}:${rule.longest ?? ''}` : rule.kind;
}

/** Reads "id" of each job that the call with this mark created, or "id:mark" of another. */
function readPlaced(placed: readonly string[], mark: number): EnqueuedKey[] {
  let created = 0;
  return placed.map((text) => {
    const [id = '', other] = text.split(':');
    if (other !== undefined) return { id, mark: Number(other), created: false };
    created += 1;
    return { id, mark: markAt(mark, created - 1), created: true };
  });
}
