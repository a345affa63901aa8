import { isPromise } from 'node:util/types';
import { defined } from './defined.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from './duration.js';
import { InvalidOptionError } from './errors.js';
import { checkOptions, optionNames } from './known-options.js';

/** A job of which there is only one for each key. Use one of `while`, `throttle` and `debounce`. */
export interface UniqueOptions<Input = unknown> {
  /** What there may be one job for, such as an order: text of 1 to 255 bytes, or a function that makes it from the input. */
  key: string | ((input: Input) => string);
  /**
   * No job is created while the key has one that waits to be run (`'waiting'`), or one that has not finished
   * (`'unfinished'`). A job that is scheduled or will be retried waits. @default 'unfinished'
   */
  while?: 'waiting' | 'unfinished';
  /** No job is created for this long after the last one was, whether it has finished or not. */
  throttle?: Duration;
  /** The job runs after this delay. A call within it replaces input and options, and restarts the delay. */
  debounce?: Duration;
  /** With `debounce`: the longest that calls can postpone a job, counted from the first. @default no limit */
  maxWait?: Duration;
}

/** Which job of the key stands for a new one. Spans are in milliseconds. */
export type UniqueRule =
  | { readonly kind: 'unfinished' | 'waiting' }
  | { readonly kind: 'throttle'; readonly span: number }
  | { readonly kind: 'debounce'; readonly span: number; readonly longest?: number };

/** Unique jobs of a definition or a call, checked. */
export interface Unique {
  readonly rule: UniqueRule;
  /** The key of a job. @throws InvalidOptionError, and what the function of the options throws */
  keyOf(input: unknown): string;
}

const MAX_KEY_BYTES = 255;
const KNOWN = optionNames<Required<UniqueOptions>>({
  key: true,
  while: true,
  throttle: true,
  debounce: true,
  maxWait: true,
});

/** @throws ConfigurationError, InvalidOptionError */
export function checkUnique<Input>(options: UniqueOptions<Input>): Unique {
  const { key, ...given } = checkOptions('unique', options, KNOWN);
  const rule = ruleOf(given);
  if (typeof key !== 'function') {
    const checked = checkKey(key);
    return { rule, keyOf: () => checked };
  }
  // The input has the type of the definition, which the compiler has checked.
  return { rule, keyOf: (input) => checkKey(key(input as Input)) };
}

function ruleOf(options: Omit<UniqueOptions, 'key'>): UniqueRule {
  const { while: kind = 'unfinished', throttle, debounce, maxWait } = options;
  if (throttle !== undefined && debounce !== undefined) throw contradicts('throttle', throttle, 'debounce');
  const other = throttle === undefined ? 'debounce' : 'throttle';
  if (options.while !== undefined && (throttle !== undefined || debounce !== undefined))
    throw contradicts('while', options.while, other);
  if (maxWait !== undefined && debounce === undefined)
    throw new InvalidOptionError('unique.maxWait', maxWait, 'absent without `debounce`');
  if (throttle !== undefined) return { kind: 'throttle', span: spanOf('throttle', throttle) };
  if (debounce !== undefined) return debounceOf(debounce, maxWait);
  if (kind !== 'unfinished' && kind !== 'waiting')
    throw new InvalidOptionError('unique.while', kind, "'waiting' or 'unfinished'");
  return { kind };
}

function debounceOf(debounce: Duration, maxWait: Duration | undefined): UniqueRule {
  const span = spanOf('debounce', debounce);
  const longest = maxWait === undefined ? undefined : spanOf('maxWait', maxWait);
  if (longest !== undefined && longest < span)
    throw new InvalidOptionError('unique.maxWait', maxWait, `at least as long as \`debounce\`, ${span} ms`);
  return defined({ kind: 'debounce', span, longest });
}

function spanOf(option: string, span: Duration): number {
  return toMilliseconds(`unique.${option}`, span, { most: MAX_SPAN_MS });
}

function contradicts(option: string, value: unknown, other: string): InvalidOptionError {
  return new InvalidOptionError(`unique.${option}`, value, `absent with \`${other}\`: choose one of them`);
}

function checkKey(key: unknown): string {
  if (isPromise(key)) throw new InvalidOptionError('unique.key', key, 'text: the function must not be async');
  if (typeof key !== 'string' || key === '' || !key.isWellFormed() || Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw new InvalidOptionError('unique.key', key, `text of 1 to ${MAX_KEY_BYTES} bytes in UTF-8`);
  return key;
}
