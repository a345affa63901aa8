import { checkWhole } from './check-whole.js';
import { defined } from './defined.js';
import { MAX_SPAN_MS, toMilliseconds } from './duration.js';
import { InvalidOptionError } from './errors.js';
import { nameProblem } from './function-name.js';
import { checkOptions, optionNames } from './known-options.js';
import type { Limit, LimitNumbers, LimitOptions, LimitRules, SharedLimit } from './limit.js';
import { checkLimitKey, keyNotMade } from './limit-errors.js';
import { recordsOf } from './show-as.js';

/** Most starts in a `rate.per`: the server keeps the time of each. */
const MAX_RATE = 100_000;

const NUMBERS = optionNames<Required<LimitNumbers>>({ concurrency: true, rate: true });
const RATE = optionNames<NonNullable<LimitNumbers['rate']>>({ max: true, per: true });
const OPTIONS = optionNames<Required<LimitOptions>>({
  key: true,
  concurrency: true,
  rate: true,
  shared: true,
  order: true,
  onFull: true,
  replace: true,
});

const CHOICES = {
  order: ['fair', 'strict'],
  onFull: ['wait', 'refuse', 'replace'],
  replace: ['waiting', 'running'],
} as const;

type CheckedNumbers = Pick<LimitRules, 'concurrency' | 'rate'>;

const asShared = recordsOf<SharedLimit>('SharedLimit');
const asLimit = recordsOf<Limit>('Limit', ({ rules, isKeyed, onFull, replace }) =>
  defined({
    key: isKeyed ? 'by input' : undefined,
    ...rules,
    onFull,
    replace: onFull === 'replace' ? replace : undefined,
  }),
);

/** Those that `defineLimit` has made: an object with a `name` may be a mistake. */
const sharedLimits = new WeakSet<object>();

/**
 * Defines a limit that several functions share: `limit: openai`, or `limit: { shared: openai, key: … }`. Its numbers count
 * the jobs of all of them together.
 *
 * @throws ConfigurationError, InvalidOptionError
 */
export function defineLimit(name: string, numbers: LimitNumbers): SharedLimit {
  const problem = nameProblem(name);
  if (problem !== undefined)
    throw new InvalidOptionError('name', name, `the name of a limit, such as "openai"; ${problem}`);
  const limit = Object.freeze(asShared({ name, ...checkNumbers('defineLimit', numbers) }));
  sharedLimits.add(limit);
  return limit;
}

/**
 * Checks the limit of a function.
 *
 * @param definition the limit of its definition; a handler's own has the same keys unless it has a `key`
 * @throws ConfigurationError, InvalidOptionError
 */
export function checkLimit<Input>(
  fn: string,
  limit: LimitOptions<Input> | SharedLimit,
  definition?: Limit,
): Limit {
  const options = isShared(limit)
    ? { shared: limit }
    : checkOptions<LimitOptions<Input>>('limit', limit, OPTIONS);
  const { key, shared } = options;
  if (key !== undefined && typeof key !== 'function')
    throw new InvalidOptionError('limit.key', key, 'a function that takes the input and returns text');
  const order = choiceOf(options, 'order');
  const onFull = choiceOf(options, 'onFull');
  const replace = choiceOf(options, 'replace');
  if (options.replace !== undefined && onFull !== 'replace')
    throw new InvalidOptionError('limit.replace', options.replace, "absent unless `onFull` is 'replace'");
  const numbers = shared === undefined ? ownNumbers(options) : sharedNumbers(shared, options);
  const { concurrency, rate } = numbers;
  if (order === 'strict' && shared === undefined && concurrency !== undefined && concurrency > 1)
    throw new InvalidOptionError('limit.concurrency', concurrency, "absent or 1 when `order` is 'strict'");
  if (order === 'fair' && shared === undefined && !concurrency && !rate) throw unlimited(limit);
  const keyOf = key ? keyMaker(fn, key) : (definition?.keyOf ?? (() => ''));
  const isKeyed = key !== undefined || definition?.isKeyed === true;
  const rules = Object.freeze(defined({ ...numbers, order, shared: shared?.name }));
  return Object.freeze(asLimit({ rules, isKeyed, onFull, replace, keyOf }));
}

/** Checks the numbers of a limit. @param user for messages @throws ConfigurationError, InvalidOptionError */
export function checkNumbers(user: string, given: LimitNumbers): CheckedNumbers {
  const numbers = ownNumbers(checkOptions(user, given, NUMBERS), '');
  if (numbers.concurrency === undefined && numbers.rate === undefined)
    throw new InvalidOptionError(user, given, 'given `concurrency`, `rate` or both');
  return numbers;
}

function ownNumbers({ concurrency, rate }: LimitNumbers, prefix = 'limit.'): CheckedNumbers {
  return defined({
    concurrency: concurrency === undefined ? undefined : checkWhole(`${prefix}concurrency`, concurrency, 1),
    rate: rate === undefined ? undefined : checkRate(`${prefix}rate`, rate),
  });
}

function checkRate(
  option: string,
  given: NonNullable<LimitNumbers['rate']>,
): NonNullable<CheckedNumbers['rate']> {
  const { max, per } = checkOptions(option, given, RATE);
  return Object.freeze({
    max: checkWhole(`${option}.max`, max, 1, MAX_RATE),
    per: toMilliseconds(`${option}.per`, per, { least: 1, most: MAX_SPAN_MS }),
  });
}

function sharedNumbers(shared: unknown, { concurrency, rate }: LimitNumbers): CheckedNumbers {
  if (!isShared(shared)) throw new InvalidOptionError('limit.shared', shared, 'made by `defineLimit`');
  for (const [name, value] of Object.entries({ concurrency, rate }))
    if (value !== undefined)
      throw new InvalidOptionError(`limit.${name}`, value, 'absent beside `shared`, which has the numbers');
  return defined({ concurrency: shared.concurrency, rate: shared.rate });
}

function isShared(limit: unknown): limit is SharedLimit {
  return typeof limit === 'object' && limit !== null && sharedLimits.has(limit);
}

function choiceOf<Name extends keyof typeof CHOICES>(
  options: Pick<LimitOptions, Name>,
  name: Name,
): (typeof CHOICES)[Name][number] {
  const allowed: readonly unknown[] = CHOICES[name];
  const chosen: unknown = options[name] === undefined ? allowed[0] : options[name];
  if (allowed.includes(chosen)) return chosen as (typeof CHOICES)[Name][number];
  throw new InvalidOptionError(
    `limit.${name}`,
    chosen,
    allowed.map((each) => `'${String(each)}'`).join(' or '),
  );
}

function unlimited(limit: unknown): InvalidOptionError {
  const some = "given at least one of `concurrency`, `rate`, `shared` and `order: 'strict'`";
  return new InvalidOptionError('limit', limit, some);
}

function keyMaker<Input>(fn: string, key: (input: Input) => unknown): (input: unknown) => string {
  return (input) => {
    let made: unknown;
    try {
      made = key(input as Input);
    } catch (cause) {
      throw keyNotMade(fn, cause);
    }
    return checkLimitKey(fn, made);
  };
}

/** Jobs in strict order have no priority. @throws InvalidOptionError */
export function checkPriority({ rules }: Limit, queue: 'high' | 'normal' | 'low' | 'scheduled'): void {
  if (rules.order === 'strict' && (queue === 'high' || queue === 'low'))
    throw new InvalidOptionError(
      'priority',
      queue,
      "absent or 'normal' for a function whose order is 'strict'",
    );
}
