import { isDate } from 'node:util/types';
import { millisecondsOr, type Duration } from '../job/duration.js';
import { InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { CommonModuleOptions, EnqueueModuleOptions } from '../nest/gearmonkey.options.js';

/** Fake timers that move with the test's clock: `jest` of Jest, or `vi` of vitest. */
export interface FakeTimers {
  advanceTimersByTimeAsync(ms: number): Promise<unknown>;
  setSystemTime(now: Date): unknown;
}

/** Options for running the jobs of an app in a test. */
export interface TestingOptions {
  /**
   * `'manual'`: a job waits until `drain`, `advance`, `setTime` or `perform` runs it. `'auto'`: workers run what is due by
   * themselves, as in production, for code that waits for a job's output. @default 'manual'
   */
  mode?: 'manual' | 'auto';

  /** The clock's time when the test begins. It stands still until the test moves it. @default the current time */
  now?: Date;

  /** Fake timers that the clock moves along, so that `Date` and timers of the app agree with it: `jest` or `vi`. */
  timers?: FakeTimers;

  /**
   * How much real time `advance` and `setTime` give a running handler to end before they move the clock. One that still
   * runs then is assumed to wait for the clock. @default '250ms'
   */
  patience?: Duration;

  /** A Redis to keep the jobs in, under names of their own, instead of this process. @default `GEARMONKEY_TEST_REDIS` of the environment */
  redis?: string;
}

/** Options of `GearMonkeyTestingModule.forRoot`: those of the test, and options of the module. */
export interface TestingModuleOptions extends TestingOptions, CommonModuleOptions, EnqueueModuleOptions {
  /** Names of the instances. @default the instance without a name */
  instances?: readonly string[];
}

const TESTING = { mode: true, now: true, timers: true, patience: true, redis: true } as const;
const OVERRIDE_OPTIONS = optionNames<TestingOptions>(TESTING);
const MODULE_OPTIONS = optionNames<TestingModuleOptions>({
  ...TESTING,
  instances: true,
  codec: true,
  maxPayloadBytes: true,
  errorDetail: true,
  jobLimits: true,
  shutdownTimeout: true,
  globalEnhancers: true,
  workers: true,
  headers: true,
  runWith: true,
});

/** The options of a test, with all defaults. */
export interface CheckedTestingOptions {
  readonly isAuto: boolean;
  readonly now: number;
  readonly timers: FakeTimers | undefined;
  /** Milliseconds. */
  readonly patience: number;
  readonly redis: string | undefined;
}

/** Those of a test, and what is left of the module's. @throws ConfigurationError, InvalidOptionError */
export function splitOptions(options: TestingModuleOptions): {
  testing: TestingOptions;
  instances: readonly string[] | undefined;
  module: CommonModuleOptions & EnqueueModuleOptions;
} {
  const { mode, now, timers, patience, redis, instances, ...module } = checkOptions(
    'GearMonkeyTestingModule.forRoot',
    options,
    MODULE_OPTIONS,
  );
  return { testing: { mode, now, timers, patience, redis } as TestingOptions, instances, module };
}

/** @throws ConfigurationError, InvalidOptionError */
export function checkTesting(options: TestingOptions): CheckedTestingOptions {
  const given = checkOptions('GearMonkeyTestingModule.override', options, OVERRIDE_OPTIONS);
  const { mode = 'manual', now = new Date(), timers, patience } = given;
  if (mode !== 'manual' && mode !== 'auto') throw new InvalidOptionError('mode', mode, "'manual' or 'auto'");
  if (timers !== undefined && typeof timers?.advanceTimersByTimeAsync !== 'function')
    throw new InvalidOptionError('timers', timers, 'fake timers: `jest` or `vi`');
  return {
    isAuto: mode === 'auto',
    now: timeOf('now', now),
    timers,
    patience: millisecondsOr('250ms', 'patience', patience),
    redis: given.redis ?? (process.env['GEARMONKEY_TEST_REDIS'] || undefined),
  };
}

/** @throws InvalidOptionError */
export function timeOf(option: string, date: Date): number {
  if (!isDate(date) || Number.isNaN(date.getTime()))
    throw new InvalidOptionError(option, date, "a valid Date, as in new Date('2027-01-01')");
  return date.getTime();
}
