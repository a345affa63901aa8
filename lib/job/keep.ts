import { checkWhole } from './check-whole.js';
import { defined } from './defined.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from './duration.js';
import { checkOptions, optionNames } from './known-options.js';

const MINUTE_MS = 60_000;
/** How long the protocol keeps ended jobs, in ms. */
export const KEPT_MS = 25 * 60 * MINUTE_MS;

/** How long jobs can be read that ended in one way. */
export interface KeepSpan {
  /** From when they ended; at least a minute. @default 25 hours, as plain workers keep them */
  age?: Duration;
  /** Only the newest so many; at least 1. Older ones are deleted a few seconds after their end. @default all */
  count?: number;
}

/** How long ended jobs can be read. */
export interface KeepOptions {
  /** Jobs that succeeded. */
  success?: KeepSpan;
  /** Jobs that failed; cancelled ones are counted by themselves, and kept for 25 hours at most. */
  error?: KeepSpan;
}

/** What is kept of jobs that ended in one way. */
export interface KeepRule {
  /** Milliseconds. */
  readonly age: number;
  readonly count: number;
}

/** What is kept of a function's jobs. */
export interface KeepRules {
  readonly success: KeepRule;
  readonly error: KeepRule;
}

/** Options that were checked and copied. */
export interface Keep {
  readonly success?: Partial<KeepRule>;
  readonly error?: Partial<KeepRule>;
}

const KINDS = optionNames<Required<KeepOptions>>({ success: true, error: true });
const SPAN = optionNames<Required<KeepSpan>>({ age: true, count: true });
const EVERYTHING: KeepRule = { age: KEPT_MS, count: Infinity };

/** @throws ConfigurationError, InvalidOptionError */
export function checkKeep(given: KeepOptions): Keep {
  const { success, error } = checkOptions('keep', given, KINDS);
  return defined({
    success: success === undefined ? undefined : checkSpan('success', success),
    error: error === undefined ? undefined : checkSpan('error', error),
  });
}

/** What the given options say; of each the last one that says anything. */
export function keepRules(...given: readonly (Keep | undefined)[]): KeepRules {
  const ruleOf = (kind: keyof KeepRules) => Object.assign({}, EVERYTHING, ...given.map((one) => one?.[kind]));
  return { success: ruleOf('success'), error: ruleOf('error') };
}

function checkSpan(kind: string, given: KeepSpan): Partial<KeepRule> {
  const { age, count } = checkOptions(`keep.${kind}`, given, SPAN);
  const name = `keep.${kind}`;
  return defined({
    age:
      age === undefined
        ? undefined
        : toMilliseconds(`${name}.age`, age, { least: MINUTE_MS, most: MAX_SPAN_MS }),
    count: count === undefined ? undefined : checkWhole(`${name}.count`, count, 1),
  });
}
