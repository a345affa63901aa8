import { isUtf8 } from 'node:buffer';
import { defined } from '../../../job/defined.js';
import { read, type Codec } from '../../../job/codec.js';
import { isErrorInfo, MalformedJobError, toErrorInfo, type JobErrorInfo } from '../../../job/errors.js';
import { recordsOf } from '../../../job/show-as.js';
import { readJobOptions } from './job-options.js';
import { readWait, splitSignals, waitField, WAITS_FIELD } from '../../../job/signals.js';
import { readStep, readStepList, stepField, STEPS_FIELD, type RecordedStep } from '../../../job/steps.js';
import { NO_HEADERS } from '../../../job/headers.js';
import type { AttemptError, Job, JobTimes, Progress } from '../../../job/job.js';
import type { JobState } from '../../../job/job-state.js';

/** A job's hash as it is stored: field names to bytes. */
export type StoredJob = ReadonlyMap<string, Uint8Array>;

const asJob = recordsOf<Job>('Job');

/** The protocol's words for where a job stands. */
export type JobStatus = 'idle' | 'busy' | 'success' | 'error';

const STATUSES: ReadonlySet<string> = new Set<JobStatus>(['idle', 'busy', 'success', 'error']);

/**
 * A job as users see it. Fields that only this package writes are absent if a plain client or worker took part.
 *
 * @param now the server's time in ms; any number unless `waitsForTime`
 * @throws MalformedJobError for a status that the protocol doesn't have
 * @throws UnreadablePayloadError when the codec can't read input or output
 */
export function toJob(fn: string, id: string, stored: StoredJob, codec: Codec, now: number): Job {
  const status = statusOf(fn, id, stored);
  const output = stored.get('output');
  const options = readJobOptions(text(stored.get('options')) ?? '');
  return asJob(
    defined({
      id,
      fn,
      state: stateOf(stored, now),
      input: read(codec, fn, 'input', stored.get('input') ?? new Uint8Array()),
      output: status === 'success' && output ? read(codec, fn, 'output', output) : undefined,
      error: status === 'error' ? errorOf(stored) : undefined,
      progress: progressOf(stored),
      errors: attemptErrors(stored),
      attempts: numberOf(stored, 'attempts') ?? 0,
      stalls: numberOf(stored, 'stalls') || undefined,
      snoozes: numberOf(stored, 'snoozes') ?? 0,
      waitsFor: waitedFor(stored),
      waitsForJobs: waitedJobs(stored),
      times: timesOf(stored, options.expires),
      worker: workerOf(stored),
      headers: options.headers ?? NO_HEADERS,
      tags: options.tags,
      recurring: options.recurring,
      steps: stepsOf(stored),
    }),
  );
}

/** A finished job of which only the output is known. @throws UnreadablePayloadError */
export function toFinished(fn: string, id: string, output: string, codec: Codec): Job {
  const value = read(codec, fn, 'output', Buffer.from(output));
  return {
    id,
    fn,
    state: 'succeeded',
    input: undefined,
    output: value,
    errors: [],
    attempts: 0,
    snoozes: 0,
    times: {},
    headers: NO_HEADERS,
  };
}

/** Whether it is one of the protocol's words. */
export function isStatus(status: string | undefined): status is JobStatus {
  return status !== undefined && STATUSES.has(status);
}

/** @throws MalformedJobError */
function statusOf(fn: string, id: string, stored: StoredJob): JobStatus {
  const status = text(stored.get('status'));
  if (isStatus(status)) return status;
  throw new MalformedJobError(
    fn,
    id,
    status === undefined ? 'it has no status' : `its status is ${JSON.stringify(status)}`,
  );
}

/** What `stateOf` reads. */
export const STATE_FIELDS = ['status', 'cancelled', 'after', 'due', 'retry'] as const;

/** Where a job stands at this time. A hash without a status of the protocol counts as a job that waits. */
export function stateOf(stored: StoredJob, now: number): JobState {
  const status = textOf(stored, 'status');
  if (status === 'busy') return 'running';
  if (status === 'success') return 'succeeded';
  if (status === 'error') return stored.has('cancelled') ? 'cancelled' : 'failed';
  if (stored.has('after')) return 'scheduled';
  const [due, retry] = timesToWait(stored);
  if (Math.max(due, retry) <= now) return 'waiting';
  return retry > due ? 'retrying' : 'scheduled';
}

/** Whether it is the time that says where a job stands. Most jobs wait for none. */
export function waitsForTime(stored: StoredJob): boolean {
  return textOf(stored, 'status') === 'idle' && Math.max(...timesToWait(stored)) > 0;
}

/** When a job is due that is scheduled, and the next attempt of one that failed. One that ran has waited for the later one last. */
function timesToWait(stored: StoredJob): readonly [due: number, retry: number] {
  return [numberOf(stored, 'due') ?? 0, numberOf(stored, 'retry') ?? 0];
}

/** Every worker stores the message; ours add the other fields as JSON, which may also come from other programs. */
export function errorOf(stored: StoredJob): JobErrorInfo {
  return parseError(stored.get('error')) ?? { name: 'Error', message: text(stored.get('output')) ?? '' };
}

/** Reads the `error:{attempt}` fields, in order. */
function attemptErrors(stored: StoredJob): AttemptError[] {
  return [...stored]
    .flatMap(([field, value]) => {
      const attempt = /^error:(\d+)$/.exec(field)?.[1];
      const error = attempt === undefined ? undefined : parseError(value);
      return error ? [{ ...error, attempt: Number(attempt) }] : [];
    })
    .sort((a, b) => a.attempt - b.attempt);
}

function parseError(value: Uint8Array | undefined): JobErrorInfo | undefined {
  try {
    const info: unknown = JSON.parse(text(value) ?? '');
    return isErrorInfo(info) ? toErrorInfo(info) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the error of its last attempt is known. */
export function hasError(stored: StoredJob): boolean {
  return parseError(stored.get('error')) !== undefined;
}

/** How often a worker of this package claimed it. */
export function attemptsOf(stored: StoredJob): number {
  return numberOf(stored, 'attempts') ?? 0;
}

/** Whether it has left its queue at least once, as the script of `update` has it. */
export function isBegun(stored: StoredJob): boolean {
  return (
    textOf(stored, 'status') !== 'idle' || attemptsOf(stored) > 0 || (numberOf(stored, 'snoozes') ?? 0) > 0
  );
}

/** A field as text. */
export function textOf(stored: StoredJob, field: string): string | undefined {
  return text(stored.get(field));
}

/** Who runs it, or ran it last: the field names the claim that it is about. */
export function workerOf(stored: StoredJob): string | undefined {
  const [, token, worker] = /^(\d+):([\w-]{1,100})$/.exec(text(stored.get('worker')) ?? '') ?? [];
  return token !== undefined && token === text(stored.get('token')) ? worker : undefined;
}

/** The signals that it waits for. */
export function waitedFor(stored: StoredJob): readonly string[] | undefined {
  const names = text(stored.get('status')) === 'idle' ? text(stored.get(WAITS_FIELD)) : undefined;
  return names === undefined ? undefined : splitSignals(names);
}

/** How many jobs it waits for that have not ended. */
export function waitedJobs(stored: StoredJob): number | undefined {
  return text(stored.get('status')) === 'idle' ? numberOf(stored, 'after') : undefined;
}

function endOfWait(stored: StoredJob): Date | undefined {
  // All of them are waited for until the same time.
  const name = waitedFor(stored)?.[0];
  const wait = name === undefined ? undefined : readWait(stored.get(waitField(name)));
  return wait && new Date(wait.deadline);
}

/** Those that have ended, in the order of its handler. */
function stepsOf(stored: StoredJob): readonly RecordedStep[] | undefined {
  const list = readStepList(stored.get(STEPS_FIELD));
  return list?.names.flatMap((name) => {
    const step = readStep(stored.get(stepField(name)));
    if (!step) return [];
    const { started, finished, output } = step;
    return [{ name, started: new Date(started), finished: new Date(finished), bytes: output.byteLength }];
  });
}

/** A job's mark; 0 if a plain client sent it. */
export function markIn(stored: StoredJob): number {
  return numberOf(stored, 'mark') ?? 0;
}

export function progressOf(stored: StoredJob): Progress | undefined {
  const dividend = numberOf(stored, 'status:dividend');
  const divisor = numberOf(stored, 'status:divisor');
  return dividend === undefined || divisor === undefined ? undefined : { dividend, divisor };
}

export function timesOf(stored: StoredJob, expires: number | undefined): JobTimes {
  return defined({
    created: dateOf(stored, 'created'),
    scheduled: scheduledIn(stored),
    expires: expires === undefined ? undefined : new Date(expires),
    started: dateOf(stored, 'started'),
    finished: dateOf(stored, 'finished'),
    waitsUntil: endOfWait(stored),
  });
}

function scheduledIn(stored: StoredJob): Date | undefined {
  const time = Math.max(...timesToWait(stored));
  return time > 0 ? new Date(time) : undefined;
}

function dateOf(stored: StoredJob, field: string): Date | undefined {
  const ms = numberOf(stored, field);
  return ms === undefined ? undefined : new Date(ms);
}

function numberOf(stored: StoredJob, field: string): number | undefined {
  const value = text(stored.get(field));
  return value === undefined || value.trim() === '' || !Number.isFinite(Number(value))
    ? undefined
    : Number(value);
}

function text(bytes: Uint8Array | undefined): string | undefined {
  if (!bytes) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    isUtf8(bytes) ? 'utf8' : 'latin1',
  );
}
