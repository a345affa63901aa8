import { isUtf8 } from 'node:buffer';
import { defined } from '../job/defined.js';
import { MalformedJobError, type JobErrorInfo } from '../job/errors.js';
import type { ListedState } from '../job/job-views.js';
import type { StreamKind } from '../job/streams.js';
import { rawCodec } from './raw-codec.js';
import { textOf, toJob, waitedFor, waitedJobs, type StoredJob } from '../gearmonkey/wire/stored-job.js';

/** Fields that the view shows under other names, or that are of no use to people. */
const KNOWN =
  /^(?:input|output|error|error:\d+|status|status:dividend|status:divisor|created|due|started|finished|attempts|snoozes|stalls|queue|key|options|tags|token|worker|flow|after|place|on-parent-error|held|kept|(?:children|parents)-done|steps|(?:step|cursor|signal|wait):.*|waits|(?:output|log):(?:by|bytes|count)|mark|settled|lost|unique)$/;
const MAX_MORE = 50;
const MAX_FIELD = 1000;
const CANCELLED = new Set(['JOB_CANCELLED', 'JOB_DRAINED', 'JOB_REPLACED']);

/** All of a job but its payloads, not yet redacted. */
export function wholeJob(fn: string, id: string, stored: StoredJob, now: number) {
  const { input: _, output: __, tags: ___, ...job } = known(fn, id, stored);
  const text = (field: string) => textOf(stored, field) || undefined;
  return defined({
    ...job,
    state: stateOf(stored, job.error, now),
    flow: text('flow') === undefined ? undefined : (true as const),
    stalls: Number(text('stalls') ?? 0) || 0,
    key: text('key'),
    options: text('options')?.slice(0, 16 * MAX_FIELD),
    unique: text('unique')?.slice(0, MAX_FIELD),
    tags: tagsOf(text('tags')),
    input: sizeOf(stored, 'input'),
    output: job.status === 'success' ? sizeOf(stored, 'output') : undefined,
    streams: streamsOf(stored),
    more: moreOf(stored),
  });
}

/** A payload's bytes; undefined if there is none. */
export function payloadOf(stored: StoredJob, part: 'input' | 'output'): Buffer | undefined {
  const bytes = stored.get(part);
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** At most `most` bytes as text, cut between characters. */
export function shownText(bytes: Buffer, most: number): { text: string; encoding: 'utf8' | 'base64' } {
  if (!isUtf8(bytes))
    return { text: bytes.subarray(0, (most / 4) * 3).toString('base64'), encoding: 'base64' };
  let end = Math.min(most, bytes.length);
  while (end < bytes.length && end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.subarray(0, end).toString('utf8'), encoding: 'utf8' };
}

function known(fn: string, id: string, stored: StoredJob) {
  try {
    return toJob(fn, id, stored, rawCodec);
  } catch (error) {
    if (!(error instanceof MalformedJobError)) throw error;
    // Another program wrote it: what can be read of it is shown.
    const readable = new Map([...stored, ['status', Buffer.from('idle')]]);
    return { ...toJob(fn, id, readable, rawCodec), status: textOf(stored, 'status') ?? '' };
  }
}

function stateOf(stored: StoredJob, error: JobErrorInfo | undefined, now: number): ListedState {
  const status = textOf(stored, 'status');
  if (status === 'busy') return 'running';
  if (status === 'success') return 'success';
  if (status === 'error') return CANCELLED.has(error?.code ?? '') ? 'cancelled' : 'failed';
  if (waitedFor(stored) !== undefined || waitedJobs(stored) !== undefined) return 'scheduled';
  if (Number(textOf(stored, 'due') ?? 0) <= now) return 'waiting';
  return stored.has(`error:${textOf(stored, 'attempts')}`) ? 'retrying' : 'scheduled';
}

function tagsOf(json: string | undefined): string[] | undefined {
  try {
    const tags: unknown = JSON.parse(json ?? '');
    return Array.isArray(tags) ? tags.map((tag) => String(tag).slice(0, MAX_FIELD)) : undefined;
  } catch {
    return undefined;
  }
}

/** How many entries it has streamed of each kind. */
function streamsOf(stored: StoredJob): { output?: number; log?: number } | undefined {
  const count = (kind: StreamKind) => Number(textOf(stored, `${kind}:count`)) || undefined;
  const [output, log] = [count('output'), count('log')];
  return output || log ? defined({ output, log }) : undefined;
}

function sizeOf(stored: StoredJob, field: string): { bytes: number } | undefined {
  const bytes = stored.get(field)?.byteLength;
  return bytes === undefined ? undefined : { bytes };
}

function moreOf(stored: StoredJob): Record<string, string> {
  const others = [...stored.keys()].filter((field) => !KNOWN.test(field)).slice(0, MAX_MORE);
  return Object.fromEntries(
    others.map((field) => [field.slice(0, 255), (textOf(stored, field) ?? '').slice(0, MAX_FIELD)]),
  );
}
