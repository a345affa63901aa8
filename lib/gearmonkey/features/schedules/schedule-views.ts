import { bytesOf, read } from '../../../job/codec.js';
import { messageOf } from '../../../job/error-info.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { MalformedScheduleError } from '../../../job/schedule-errors.js';
import { checkTimezone } from './check-cron.js';
import type { ScheduleStore } from './schedule-store.js';
import { toMalformed, toSchedule, type Schedule } from './schedule.js';
import { parseSchedule } from './read-schedule.js';
import { payloadOf, type Spec, type StoredSchedule } from './spec.js';
import { patternOf } from './timing.js';
import type { StoredFields } from './schedule-scripts.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';

/** What a client shows of the schedules on a server. */
export class ScheduleViews {
  constructor(
    private readonly store: ScheduleStore,
    private readonly functions: KnownFunctions,
  ) {}

  /** @throws UnreadablePayloadError */
  shown<Input>(ref: FunctionRef, fn: string, schedule: StoredSchedule): Schedule<Input> {
    return toSchedule(fn, schedule, this.inputOf(ref, fn, schedule)) as Schedule<Input>;
  }

  /** Shows also what other programs have written, with its problem. */
  any(fn: string, stored: StoredFields): Schedule {
    try {
      const schedule = parseSchedule(stored);
      const [input, unreadable] = attempt(() => this.inputOf(fn, fn, schedule));
      const [, unusable] = attempt(() => checkTimes(schedule.spec));
      return toSchedule(fn, schedule, input, unusable ?? unreadable);
    } catch (error) {
      const problem = error instanceof MalformedScheduleError ? error.reason : messageOf(error);
      return toMalformed(fn, stored.id, problem);
    }
  }

  /** All schedules of some functions, in the order of their ids. */
  async list(index: ReadonlyMap<string, string>, functions: readonly string[]): Promise<Schedule[]> {
    const found = await Promise.all(functions.map((fn) => this.listed(fn, index)));
    return found.flat().toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  private async listed(fn: string, index: ReadonlyMap<string, string>): Promise<Schedule[]> {
    const found: Schedule[] = [];
    try {
      for await (const page of this.store.pages(fn))
        for (const stored of page) found.push(this.any(fn, stored));
      return found;
    } catch (error) {
      if (!messageOf(error).includes('WRONGTYPE')) throw error;
      // Another program has written something else in place of all schedules of this function.
      const entered = [...index].filter(([, owner]) => owner === fn);
      if (entered.length === 0) throw error;
      return entered.map(([id]) => toMalformed(fn, id, messageOf(error)));
    }
  }

  private inputOf(ref: FunctionRef, fn: string, { spec }: StoredSchedule): unknown {
    return read(this.functions.codecOf(ref), fn, 'input', bytesOf(payloadOf(spec)));
  }
}

/** @throws an Error for a pattern or a time zone that this program doesn't know */
function checkTimes(spec: Spec): void {
  if (spec.cron === undefined) return;
  checkTimezone(spec.timezone);
  patternOf(spec);
}

/** Returns a result, or the text of its error. */
function attempt<T>(compute: () => T): [result?: T, problem?: string] {
  try {
    return [compute()];
  } catch (error) {
    return [undefined, messageOf(error)];
  }
}
