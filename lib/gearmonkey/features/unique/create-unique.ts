import type { Payload } from '../../../job/codec.js';
import type { UniqueRule } from '../../../job/unique.js';
import type { CreateWay, Call } from '../../core/client/enqueue-call.js';
import type { EnqueuedKey } from '../../core/client/enqueued-key.js';
import { markAt } from '../../core/wire/protocol.js';
import { unique } from '../../core/wire/scripts.js';

/** Creates jobs of which some are unique: others may stand for them. */
export const createUnique: CreateWay = {
  wants: (call) => call.unique !== undefined,

  async create(redis, call, { k, sender, head, times, time }) {
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
    return readPlaced(await unique.run(redis, keys, ...head, times, time, uniqueArguments(call)), call.mark);
  },
};

/** Four values for each job, as the script for unique jobs takes them. */
function uniqueArguments({ inputs, options, unique }: Call): Payload[] {
  return inputs.flatMap((input, index) => {
    const { rule, key = '' } = unique?.get(index) ?? {};
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
