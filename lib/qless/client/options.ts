import { isDate } from 'node:util/types';
import { checkWhole } from '../../job/check-whole.js';
import { codecOf, write } from '../../job/codec.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';

/** Options of a job that is put. If the job exists, options that are left out keep their values. */
export interface PutOptions {
  /** @default a new one */
  jid?: string;
  /** How long it waits before it may run. @default 0 */
  delay?: Duration;
  /** Jobs with a higher priority run first. @default 0 */
  priority?: number;
  /** At most 1,000. */
  tags?: readonly string[];
  /** How many further attempts it has after the first. @default 5 */
  retries?: number;
  /** Jids of the jobs that must be complete before, at most 5,000. */
  depends?: readonly string[];
}

/** Options of a recurring job. */
export interface RecurOptions {
  /** @default a new one */
  jid?: string;
  /** The time from one job to the next. */
  interval: Duration;
  /** The time until the first job. @default 0 */
  offset?: Duration;
  /** @default 0 */
  priority?: number;
  /** At most 1,000. */
  tags?: readonly string[];
  /** @default 0 */
  retries?: number;
  /** How many missed jobs are put later; 0 for all. @default 0 */
  backlog?: number;
}

/** Which part of a list is returned. */
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

/** Converts to seconds, with fractions. No timer waits for them, so they may be long. @throws InvalidOptionError */
export function toSeconds(option: string, duration: Duration, least?: number): number {
  return toMilliseconds(option, duration, { least, most: MAX_SPAN_MS }) / 1000;
}

/** Converts to seconds since 1970. @throws InvalidOptionError */
export function timeInSeconds(option: string, time: Date): number {
  if (isDate(time) && !Number.isNaN(time.getTime())) return time.getTime() / 1000;
  throw new InvalidOptionError(option, time, 'a valid Date');
}

const json = codecOf('json');

/** @throws NotSerializableError */
export function dataText(klass: string, data: unknown): string {
  return String(write(json, klass, 'input', data === undefined ? {} : data));
}

/** Lists the given options: each name followed by its value, lists as JSON. */
export function optionArguments(
  options: Readonly<Record<string, number | string | readonly string[] | undefined>>,
): (string | number)[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [name, typeof value === 'object' ? JSON.stringify(value) : value];
  });
}
