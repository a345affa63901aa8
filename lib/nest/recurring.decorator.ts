import { ConfigurationError } from '../job/errors.js';
import { optionNames } from '../job/known-options.js';
import {
  RECURRING_OPTIONS,
  type RecurringJobOptions,
  type RecurringTimes,
} from '../gearmonkey/features/schedules/recur-options.js';
import type { Configuration, OptionsFactory, OptionsOf } from './configured-options.js';
import { annotate, type Annotation } from './metadata.js';
import { offerJob } from './worker.decorator.js';

/** Options of `@Recurring`. */
export interface RecurringOptions extends RecurringTimes, RecurringJobOptions {
  /** Names the schedule, among all of its server. @default `Class.method` */
  id?: string;
  /** The input of each job. */
  input?: unknown;
  /** The module instance. @default that of the method's `@Worker`, or the instance without a name */
  instance?: string;
  /** `false` removes the schedule. @default true */
  enabled?: boolean;
}

/** What a function of the configuration returns for `@Recurring`. Text will do for `enabled`, as in an environment. */
export interface ConfiguredRecurringOptions extends Omit<RecurringOptions, 'instance' | 'enabled'> {
  /** `false` removes the schedule. @default true */
  enabled?: boolean | string | undefined;
}

/** Metadata of a `@Recurring` method. */
export interface RecurringAnnotation extends Annotation<Omit<RecurringOptions, 'instance'>> {
  /** The pattern, if it was given beside the options. */
  readonly cron?: string;
  /** Index of the parameter that gets the running job. */
  readonly jobIndex: number;
}

export const RECURRING_METADATA = 'gearmonkey:recurring';
/** What a function that makes options may return. */
export const KNOWN_RECURRING = new Set([
  ...RECURRING_OPTIONS,
  ...optionNames<Pick<Required<RecurringOptions>, 'id' | 'input' | 'enabled'>>({
    id: true,
    input: true,
    enabled: true,
  }),
]);
const KIND = {
  name: 'Recurring',
  key: RECURRING_METADATA,
  known: new Set([...KNOWN_RECURRING, 'instance']),
};

/**
 * Makes jobs recur, once among all processes: `@Recurring('0 9 * * 1-5', { timezone: 'Europe/Berlin' })`, or
 * `@Recurring({ every: '10m' })`. Beside `@Worker` they are jobs of that function. Alone, the method is the handler of a
 * function named after class and method.
 *
 * The schedule is written to the server when the app starts, and removed when a later version of the app has it no more.
 */
export function Recurring<Config extends Configuration = Configuration>(
  when:
    | string
    | RecurringOptions
    | OptionsOf<ConfiguredRecurringOptions, Config>
    | OptionsFactory<ConfiguredRecurringOptions>,
  options:
    | RecurringOptions
    | OptionsOf<ConfiguredRecurringOptions, Config>
    | OptionsFactory<ConfiguredRecurringOptions> = {},
) {
  return function <M extends (...args: never[]) => unknown>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void {
    const label = `${target.constructor.name}.${String(method)}`;
    const isCron = typeof when === 'string';
    if (isCron && typeof options === 'object' && options !== null && 'cron' in options)
      throw new ConfigurationError(`@Recurring on ${label} has two patterns: leave \`cron\` out.`);
    const more = { ...(isCron ? { cron: when } : {}), jobIndex: offerJob(target, method) };
    annotate<RecurringOptions>(KIND, target, method, label, isCron ? options : when, more);
  };
}
