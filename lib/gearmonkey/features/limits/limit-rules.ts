import { defined } from '../../../job/defined.js';
import { ConfigurationError } from '../../../job/errors.js';
import type { LimitRules, LimitState } from '../../../job/limit.js';
import { slotOf } from '../../../redis/cluster-slots.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import type { StoredLimit } from './limit-scripts.js';

/** The numbers of a limit. */
export type Numbers = Pick<LimitRules, 'concurrency' | 'rate'>;

/** As the scripts take them: "CONCURRENCY:MAX:PER", each empty if there is none. */
export function numbersText({ concurrency, rate }: Numbers): string {
  return [concurrency ?? '', rate?.max ?? '', rate?.per ?? ''].join(':');
}

/**
 * A function's rules, and the numbers of the shared limit that it uses, or ''.
 *
 * @throws ConfigurationError if a function with a hash tag and its shared limit are in different slots of a cluster
 */
export function rulesText(
  fn: string,
  { order, shared, ...numbers }: LimitRules,
  { control }: FunctionKeys,
): [rules: string, shared: string] {
  if (shared === undefined) return [`${numbersText(numbers)}:${order}:`, ''];
  if (control.includes('{') && slotOf(control) !== slotOf(`shared-limit:${shared}:`)) {
    throw new ConfigurationError(
      `The limit "${shared}" and the function "${fn}" are in different slots of a Redis Cluster. ` +
        `Give all functions of the limit, and the limit itself, the same hash tag: "{media}:${fn.replace(/^\{.*?\}:?/, '')}" and "{media}:${shared}".`,
    );
  }
  return [`:::${order}:${shared}`, numbersText(numbers)];
}

/** The name of the shared limit in rules as they are stored; undefined if there is none. */
export function sharedLimitIn(rules: string | null | undefined): string | undefined {
  return /^\d*:\d*:\d*:[a-z]+:(.+)$/is.exec(rules ?? '')?.[1];
}

/** A key's state as users see it. */
export function toLimitState({ key, waiting, running, until, holder }: StoredLimit): LimitState {
  return defined({
    key,
    waiting,
    running,
    full: until !== 0,
    fullUntil: until > 0 ? new Date(until) : undefined,
    heldBy: holder === '' ? undefined : holder,
  });
}

/** Sorts full keys first, then those with the most waiting jobs. */
export function fullFirst(one: LimitState, other: LimitState): number {
  return Number(other.full) - Number(one.full) || other.waiting - one.waiting;
}
