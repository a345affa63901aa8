import { checkNumbers } from '../../../job/check-limit.js';
import { checkWhole } from '../../../job/check-whole.js';
import { defined } from '../../../job/defined.js';
import { InvalidOptionError } from '../../../job/errors.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import type { LimitNumbers, LimitState } from '../../../job/limit.js';
import { keyProblem, MAX_LIMIT_KEY_BYTES } from '../../../job/limit-errors.js';
import type { ClientCore } from '../../core/feature.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';
import type { LimitsStore, Sharing } from './limit-store.js';

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

/** The methods of a `GearMonkeyClient` that concern limits. */
export class LimitsClient {
  readonly #store: LimitsStore;
  readonly #functions: KnownFunctions;

  /** @internal */
  constructor({ store, functions }: Pick<ClientCore<LimitsStore>, 'store' | 'functions'>) {
    this.#store = store;
    this.#functions = functions;
  }

  /**
   * The keys of the function's limit that have jobs or are full: full ones first, then those with the most waiting jobs.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async limits(ref: FunctionRef, options: LimitsOptions = {}): Promise<LimitState[]> {
    const { key, size = DEFAULT_SIZE } = checkOptions('limits', options, LIMITS);
    // '' is the key of a limit without `key`.
    if (key !== undefined && key !== '' && keyProblem(key) !== undefined)
      throw new InvalidOptionError('key', key, `a key of at most ${MAX_LIMIT_KEY_BYTES} bytes`);
    checkWhole('size', size, 1, MAX_SIZE);
    return this.#store.limits.read(this.#functions.nameOf(ref), defined({ key, size }));
  }

  /** Who shares the function's limit. @internal */
  async sharing(ref: FunctionRef): Promise<Sharing> {
    const found = await this.#store.limits.sharing(this.#functions.nameOf(ref), this.#functions.names());
    return { functions: found.functions.toSorted(), unread: found.unread.toSorted() };
  }

  /**
   * Replaces the numbers of the function's limit in all processes until `resetLimit`; for a shared limit, those of all its
   * functions. It applies from the next start of a job; jobs that run go on.
   *
   * @throws ConfigurationError, InvalidOptionError · LimitUnknownError
   */
  async setLimit(ref: FunctionRef, given: LimitNumbers): Promise<void> {
    const fn = this.#functions.nameOf(ref);
    const numbers = checkNumbers('setLimit', given);
    const { concurrency = 1 } = numbers;
    const { order, shared } = this.#functions.setting(ref, 'limit')?.rules ?? {};
    if (order === 'strict' && shared === undefined && concurrency > 1)
      throw new InvalidOptionError(
        'concurrency',
        concurrency,
        `absent or 1: the order of "${fn}" is 'strict'`,
      );
    return this.#store.limits.set(fn, numbers);
  }

  /** Undoes `setLimit`. @throws LimitUnknownError */
  async resetLimit(ref: FunctionRef): Promise<void> {
    return this.#store.limits.set(this.#functions.nameOf(ref), undefined);
  }
}
