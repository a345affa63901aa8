import { isDate } from 'node:util/types';
import { checkWhole } from '../../job/check-whole.js';
import { codecOf, write } from '../../job/codec.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';

/** How a job is put. What is not given stays as it was where the job is there. */
export interface PutOptions {
  /** @default a new one */
  jid?: string;
  /** After how long it may run. @default 0 */
  delay?: Duration;
  /** Higher runs first. @default 0 */
  priority?: number;
  /** 1,000 at most. */
  tags?: readonly string[];
  /** How many further attempts it has after the first. @default 5 */
  retries?: number;
  /** Jids of jobs that must be complete before, 5,000 at most. */
  depends?: readonly string[];
}

/** How a recurring job's jobs are put. */
export interface RecurOptions {
  /** @default a new one */
  jid?: string;
  /** From one to the next. */
  interval: Duration;
  /** Until the first. @default 0 */
  offset?: Duration;
  /** @default 0 */
  priority?: number;
  /** 1,000 at most. */
  tags?: readonly string[];
  /** @default 0 */
  retries?: number;
  /** How many missed runs are caught up on; 0 for all. @default 0 */
  backlog?: number;
}

/** A part of a list. */
export interface PageOptions {
  /** @default 0 */
  offset?: number;
  /** @default 25 */
  count?: number;
}

const PUT: Readonly<Record<keyof PutOptions, true>> = {
  jid: true,
  delay: true,
  priority: true,
  tags: true,
  retries: true,
  depends: true,
};
export const PUT_OPTIONS = optionNames<PutOptions>(PUT);
/** Names of `putMany`, whose options are parts of the jobs. */
export const NEW_JOB_OPTIONS = optionNames<PutOptions & { klass: string; data: unknown }>({
  ...PUT,
  klass: true,
  data: true,
});
export const RECUR_OPTIONS = optionNames<RecurOptions>({
  jid: true,
  interval: true,
  offset: true,
  priority: true,
  tags: true,
  retries: true,
  backlog: true,
});
const PAGE_OPTIONS = optionNames<PageOptions>({ offset: true, count: true });

/** Checks options of a job that exists or gets its jid elsewhere. @throws ConfigurationError */
export function withoutJid<T extends Omit<PutOptions, 'jid'>>(user: string, options: T): T {
  return checkOptions(user, options, WITHOUT_JID);
}

const WITHOUT_JID = new Set([...PUT_OPTIONS].filter((name) => name !== 'jid'));

/** The core takes an `offset` or `count` below 1 for all of some lists, and for none of others. @throws ConfigurationError, InvalidOptionError */
export function pageArguments(page: PageOptions = {}): [offset: number, count: number] {
  const { offset = 0, count = 25 } = checkOptions('page', page, PAGE_OPTIONS);
  return [checkWhole('offset', offset, 0), checkWhole('count', count, 1)];
}

/** What qless takes: seconds, or a part of one. No timer waits for them. @throws InvalidOptionError */
export function toSeconds(option: string, duration: Duration, least?: number): number {
  return toMilliseconds(option, duration, { least, most: MAX_SPAN_MS }) / 1000;
}

/** Seconds since 1970. @throws InvalidOptionError */
export function timeInSeconds(option: string, time: Date): number {
  if (isDate(time) && !Number.isNaN(time.getTime())) return time.getTime() / 1000;
  throw new InvalidOptionError(option, time, 'a valid Date');
}

const json = codecOf('json');

/** @throws NotSerializableError */
export function dataText(klass: string, data: unknown): string {
  return String(write(json, klass, 'input', data === undefined ? {} : data));
}

/** The options that were given: each name followed by its value; lists as JSON. */
export function optionArguments(
  options: Readonly<Record<string, number | string | readonly string[] | undefined>>,
): (string | number)[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [name, typeof value === 'object' ? JSON.stringify(value) : value];
  });
}
