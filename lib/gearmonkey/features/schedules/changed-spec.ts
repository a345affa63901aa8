import { defined } from '../../../job/defined.js';
import type { NewSpec } from './next-of.js';
import {
  specOf,
  type RecurringJobOptions,
  type RecurringTimes,
  type ScheduleChanges,
} from './recur-options.js';
import type { Spec } from './spec.js';

type Options = RecurringTimes & RecurringJobOptions;

/** A spec with some options changed. @throws InvalidOptionError */
export function updated(spec: Omit<Spec, 'anchor'>, changes: Omit<ScheduleChanges, 'input'>): NewSpec {
  const { input, base64, unique, paused, app } = spec;
  const merged = { ...withoutOther(optionsOf(spec), changes), ...changes };
  const options = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)) as Options;
  return defined({ ...specOf(options), input, base64, unique, paused, app });
}

/** A pattern takes the place of `every`, and the other way round. */
function withoutOther(options: Options, { cron, every }: Omit<ScheduleChanges, 'input'>): Options {
  const { cron: _, seconds: _s, timezone: _t, every: _e, ...rest } = options;
  if (every !== undefined && every !== null) return { ...rest };
  if (cron === undefined || cron === null || options.every === undefined) return options;
  return { ...rest };
}

function optionsOf(spec: Omit<Spec, 'anchor'>): Options {
  const {
    from,
    until,
    options = {},
    cron,
    seconds,
    timezone,
    every,
    limit,
    catchUp,
    jitter,
    ifRunning,
    expires,
  } = spec;
  return defined({
    ...{ cron, seconds, timezone, every, limit, catchUp, jitter, ifRunning, expires },
    ...{ retry: options.retry, jobTimeout: options.timeout, headers: options.headers },
    from: from === undefined ? undefined : new Date(from),
    until: until === undefined ? undefined : new Date(until),
  });
}
