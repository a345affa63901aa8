import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../job/duration.js';
import { InvalidOptionError } from '../job/errors.js';
import type { JobHeaders } from '../job/headers.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { recordsOf } from '../job/show-as.js';
import type { JobRef, Priority } from '../gearmonkey/core/client/run-options.js';
import { keyOf } from './job-records.js';
import { show } from './show-value.js';
import { differences, type ValueMatcher } from './subset.js';
import { timeOf } from './testing-options.js';

/** A job that the app under test enqueued. */
export interface EnqueuedJob<Input = unknown> {
  readonly fn: string;
  readonly id: string;
  /** The input as a handler reads it, after the codec. */
  readonly input: Input;
  readonly priority: Priority;
  readonly headers: JobHeaders;
  /** When it was enqueued, by the test's clock. */
  readonly created: Date;
  /** When it may run; absent if immediately. One that waits for others may run then if they end at once. */
  readonly scheduled?: Date;
  /** The jobs that it waits for, of a flow or with `after`; absent if there are none. */
  readonly after?: readonly JobRef[];
}

/** Some properties of an input, at any depth, also in lists. Matchers such as `expect.any(String)` may stand for values. */
export type PartialInput<T> =
  | ValueMatcher
  | (T extends Date | Uint8Array | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
      ? T
      : T extends readonly unknown[]
        ? { readonly [Index in keyof T]: PartialInput<T[Index]> }
        : T extends object
          ? { readonly [Key in keyof T]?: PartialInput<T[Key]> }
          : T);

/** Expected properties of a job; all given ones must match. */
export interface ExpectedJob<Input = unknown> {
  /** A part of the input; other properties may have any value. */
  input?: PartialInput<Input>;
  /** Its delay, counted from when it was enqueued, within a second. 0: at once. */
  in?: Duration;
  /** When it may run, within a second. */
  scheduled?: Date;
  priority?: Priority;
  /** Some of its headers. */
  headers?: PartialInput<JobHeaders>;
  id?: string | number;
  /** Jobs that it waits for, such as handles; it may wait for others too. */
  after?: readonly JobRef[];
}

/** Tolerance of times: an app may compute them with the system's clock. */
const TOLERANCE_MS = 1000;

const KNOWN = optionNames<Required<ExpectedJob>>({
  input: true,
  in: true,
  scheduled: true,
  priority: true,
  headers: true,
  id: true,
  after: true,
});

const PRIORITIES: ReadonlySet<unknown> = new Set<Priority>(['high', 'normal', 'low', 'scheduled']);

export const asEnqueuedJob = recordsOf<EnqueuedJob>('EnqueuedJob');

/** Checks and returns `expected`. @throws ConfigurationError, InvalidOptionError */
export function checkExpected<Input>(user: string, expected: ExpectedJob<Input>): ExpectedJob<Input> {
  checkOptions(user, expected, KNOWN);
  if (expected.in !== undefined) toMilliseconds('in', expected.in, { least: 0, most: MAX_SPAN_MS });
  if (expected.scheduled !== undefined) timeOf('scheduled', expected.scheduled);
  const { priority, id, after } = expected;
  if (priority !== undefined && !PRIORITIES.has(priority))
    throw new InvalidOptionError('priority', priority, "'high', 'normal', 'low' or 'scheduled'");
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number')
    throw new InvalidOptionError('id', id, "the id of a job, such as '1'");
  if (after !== undefined && !(Array.isArray(after) && after.every(isJob)))
    throw new InvalidOptionError('after', after, 'a list of jobs, such as handles');
  return expected;
}

/** Describes the differences between a job and the expected one. */
export function mismatches(expected: ExpectedJob, job: EnqueuedJob): string[] {
  const { input, in: span, scheduled, priority, headers, id, after } = expected;
  const wrong = (name: string, is: unknown, wanted: unknown) => [
    `${name} is ${show(is)} instead of ${show(wanted)}`,
  ];
  const within = (name: string, wanted: unknown, is: unknown) =>
    differences(wanted, is).flatMap(({ path, actual, expected: part }) => {
      const place = path.startsWith('[') || path === '' ? name + path : `${name}.${path}`;
      return wrong(place, actual, part);
    });
  const runs = (job.scheduled ?? job.created).getTime();
  return [
    ...('input' in expected ? within('input', input, job.input) : []),
    ...(span !== undefined &&
    !isNear(runs, job.created.getTime() + toMilliseconds('in', span, { least: 0, most: MAX_SPAN_MS }))
      ? [`it runs ${delayOf(job)} instead of in ${show(span)}`]
      : []),
    ...(scheduled !== undefined && !isNear(runs, scheduled.getTime())
      ? wrong('scheduled', job.scheduled, scheduled)
      : []),
    ...(priority !== undefined && priority !== job.priority ? wrong('priority', job.priority, priority) : []),
    ...(headers !== undefined ? within('headers', headers, job.headers) : []),
    ...(id !== undefined && String(id) !== job.id ? wrong('id', job.id, id) : []),
    ...(after?.every((wanted) =>
      job.after?.some((one) => keyOf(one.fn, String(one.id)) === keyOf(wanted.fn, String(wanted.id))),
    ) === false
      ? [`it waits for ${named(job.after)} instead of ${named(after)}`]
      : []),
  ];
}

/** `at once` or `in 3600 s`. */
export function delayOf({ scheduled, created }: EnqueuedJob): string {
  return scheduled ? `in ${(scheduled.getTime() - created.getTime()) / 1000} s` : 'at once';
}

/** `resize 1, mail 7`, or `no job`. */
export function named(jobs: readonly JobRef[] = []): string {
  return jobs.map(({ fn, id }) => `${fn} ${id}`).join(', ') || 'no job';
}

function isJob(job: unknown): boolean {
  const { fn, id } = (job ?? {}) as Partial<JobRef>;
  return typeof fn === 'string' && (typeof id === 'string' || typeof id === 'number');
}

function isNear(time: number, expected: number): boolean {
  return Math.abs(time - expected) <= TOLERANCE_MS;
}
