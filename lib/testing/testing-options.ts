import { isDate } from 'node:util/types';
import { millisecondsOr, type Duration } from '../job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { CommonModuleOptions, EnqueueModuleOptions } from '../nest/gearmonkey.options.js';

/** Fake timers that move with the test's clock: `jest` of Jest, or `vi` of vitest. */
export interface FakeTimers {
  advanceTimersByTimeAsync(ms: number): Promise<unknown>;
  advanceTimersToNextTimerAsync(): Promise<unknown>;
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

  /**
   * Fake timers that the clock moves along, so that `Date` and timers of the app agree with it: `jest` or `vi`. Enable them
   * with `useFakeTimers()`.
   */
  timers?: FakeTimers;

  /**
   * How much real time `advance` and `setTime` give a running handler to end before they move the clock. One that still
   * runs then is assumed to wait for the clock. @default '250ms'
   */
  patience?: Duration;

  /**
   * Whether schedules of the app make jobs when the test moves the clock. They are declared and checked all the same, and a
   * test may run their handlers with `perform`. @default true
   */
  recurring?: boolean;

  /** A Redis to keep the jobs in, under names of their own, instead of this process. @default `GEARMONKEY_TEST_REDIS` of the environment */
  redis?: string;
}

/** Options of `GearMonkeyTestingModule.forRoot`: those of the test, and options of the module. */
export interface TestingModuleOptions extends TestingOptions, CommonModuleOptions, EnqueueModuleOptions {
  /** Names of the instances. @default the instance without a name */
  instances?: readonly string[];
}

const TESTING = {
  mode: true,
  now: true,
  timers: true,
  patience: true,
  recurring: true,
  redis: true,
} as const;
const OVERRIDE_OPTIONS = optionNames<TestingOptions>(TESTING);
const MODULE_OPTIONS = optionNames<TestingModuleOptions>({
  ...TESTING,
  instances: true,
  codec: true,
  maxPayloadBytes: true,
  maxStepBytes: true,
  errorDetail: true,
  jobLimits: true,
  shutdownTimeout: true,
  globalEnhancers: true,
  workers: true,
  headers: true,
  app: true,
  keep: true,
  middleware: true,
  statistics: true,
});

/** The options of a test, with all defaults. */
export interface CheckedTestingOptions {
  readonly isAuto: boolean;
  readonly now: number;
  /** Whether the test gave `now`. */
  readonly isSet: boolean;
  readonly timers: FakeTimers | undefined;
  /** Milliseconds. */
  readonly patience: number;
  readonly recurring: boolean;
  readonly redis: string | undefined;
}

/** Those of a test, and what is left of the module's. @throws ConfigurationError, InvalidOptionError */
export function splitOptions(options: TestingModuleOptions): {
  testing: TestingOptions;
  instances: readonly string[] | undefined;
  module: CommonModuleOptions & EnqueueModuleOptions;
} {
  const { mode, now, timers, patience, recurring, redis, instances, ...module } = checkOptions(
    'GearMonkeyTestingModule.forRoot',
    options,
    MODULE_OPTIONS,
  );
  if (instances !== undefined && !isNames(instances))
    throw new InvalidOptionError('instances', instances, "a list of names, as in ['default', 'mails']");
  return { testing: { mode, now, timers, patience, recurring, redis } as TestingOptions, instances, module };
}

function isNames(names: unknown): boolean {
  return Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string');
}

/** @throws ConfigurationError, InvalidOptionError */
export function checkTesting(options: TestingOptions): CheckedTestingOptions {
  const given = checkOptions('GearMonkeyTestingModule.override', options, OVERRIDE_OPTIONS);
  const { mode = 'manual', now = new Date(), timers, patience, recurring = true, redis } = given;
  if (mode !== 'manual' && mode !== 'auto') throw new InvalidOptionError('mode', mode, "'manual' or 'auto'");
  if (timers !== undefined && typeof timers?.advanceTimersToNextTimerAsync !== 'function')
    throw new InvalidOptionError('timers', timers, 'fake timers: `jest` or `vi`');
  if (typeof recurring !== 'boolean') throw new InvalidOptionError('recurring', recurring, 'true or false');
  const url = redis ?? (process.env['GEARMONKEY_TEST_REDIS'] || undefined);
  // Without the value, which may have a password.
  if (url !== undefined && (typeof url !== 'string' || !/^rediss?:\/\/./.test(url)))
    throw new ConfigurationError(
      "The Redis of this test, from the option `redis` or GEARMONKEY_TEST_REDIS, is not a URL like 'redis://127.0.0.1:6379'.",
    );
  return {
    isAuto: mode === 'auto',
    now: timeOf('now', now),
    isSet: given.now !== undefined,
    timers,
    patience: millisecondsOr('250ms', 'patience', patience),
    recurring,
    redis: url,
  };
}

/** The last moment that servers and Date can express with room for a delay, in ms since 1970. */
export const LAST_TIME = Date.UTC(9999, 0);

/** @throws InvalidOptionError */
export function timeOf(option: string, date: Date): number {
  const time = isDate(date) ? date.getTime() : Number.NaN;
  if (time >= 0 && time <= LAST_TIME) return time;
  throw new InvalidOptionError(option, date, "a Date from 1970 to 9998, as in new Date('2027-01-01')");
}
