import { checkNumbers } from '../../../job/check-limit.js';
import { checkWhole } from '../../../job/check-whole.js';
import { defined } from '../../../job/defined.js';
import { InvalidOptionError } from '../../../job/errors.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import type { Limit, LimitNumbers, LimitState } from '../../../job/limit.js';
import { keyProblem, MAX_LIMIT_KEY_BYTES } from '../../../job/limit-errors.js';
import type { JobStore, PlacedLimit, Placement } from '../../core/client/job-store.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';
import type { Sharing } from './limit-store.js';

/** Which keys `limits` reads. */
export interface LimitsOptions {
  /** Only this one. @default all */
  key?: string;
  /** At most so many, from 1 to 1000. @default 100 */
  size?: number;
}

const LIMITS = optionNames<Required<LimitsOptions>>({ key: true, size: true });
const DEFAULT_SIZE = 100;
const MAX_SIZE = 1000;

/** Reads and changes the limits of functions. */
export class LimitAccess {
  constructor(
    private readonly store: Pick<JobStore, 'limits' | 'setLimit' | 'views'>,
    private readonly functions: KnownFunctions,
  ) {}

  async read(ref: FunctionRef, options: LimitsOptions): Promise<LimitState[]> {
    const { key, size = DEFAULT_SIZE } = checkOptions('limits', options, LIMITS);
    // '' is the key of a limit without `key`.
    if (key !== undefined && key !== '' && keyProblem(key) !== undefined)
      throw new InvalidOptionError('key', key, `a key of at most ${MAX_LIMIT_KEY_BYTES} bytes`);
    checkWhole('size', size, 1, MAX_SIZE);
    return this.store.limits(this.functions.nameOf(ref), defined({ key, size }));
  }

  /** Whose jobs the function's limit counts. */
  async sharing(ref: FunctionRef): Promise<Sharing> {
    const found = await this.store.views.sharing(this.functions.nameOf(ref), this.functions.names());
    return { functions: found.functions.toSorted(), unread: found.unread.toSorted() };
  }

  async set(ref: FunctionRef, given: LimitNumbers): Promise<void> {
    const fn = this.functions.nameOf(ref);
    const numbers = checkNumbers('setLimit', given);
    const { concurrency = 1 } = numbers;
    const { order, shared } = this.functions.limitOf(ref)?.rules ?? {};
    if (order === 'strict' && shared === undefined && concurrency > 1)
      throw new InvalidOptionError(
        'concurrency',
        concurrency,
        `absent or 1: the order of "${fn}" is 'strict'`,
      );
    return this.store.setLimit(fn, numbers);
  }

  async reset(ref: FunctionRef): Promise<void> {
    return this.store.setLimit(this.functions.nameOf(ref), undefined);
  }
}

/** The limit of new jobs. @throws LimitKeyError, InvalidOptionError */
export function placedLimit(limit: Limit, inputs: readonly unknown[], { queue }: Placement): PlacedLimit {
  const { rules, onFull, replace } = limit;
  checkPriority(limit, queue);
  return { rules, onFull, replace, keys: inputs.map((input) => limit.keyOf(input)) };
}

/** Jobs in strict order have no priority. @throws InvalidOptionError */
export function checkPriority({ rules }: Limit, queue: Placement['queue']): void {
  if (rules.order === 'strict' && (queue === 'high' || queue === 'low'))
    throw new InvalidOptionError(
      'priority',
      queue,
      "absent or 'normal' for a function whose order is 'strict'",
    );
}
