import { defined } from '../job/defined.js';
import { MalformedJobError } from '../job/errors.js';
import { stepField } from '../job/steps.js';
import type { StreamKind } from '../job/streams.js';
import type { DescribedJob } from '../gearmonkey/features/views/view-store.js';
import { isStatus, textOf, toJob, type StoredJob } from '../gearmonkey/core/wire/stored-job.js';
import type { Codec } from '../job/codec.js';

/** Fields that the view shows under other names, or that are of no use to people. */
const KNOWN =
  /^(?:input|output|error|error:\d+|status|status:dividend|status:divisor|created|due|started|finished|cancelled|retry|attempts|snoozes|stalls|isolated|queue|key|options|tags|token|worker|flow|after|place|on-parent-error|held|kept|(?:children|parents)-done|steps|(?:step|cursor|signal|wait):.*|waits|(?:output|log):(?:by|bytes|count)|mark|settled|lost)$/;
const MAX_MORE = 50;

/** All of a job but its payloads, not yet redacted, and so not yet cut. */
export function wholeJob(fn: string, id: string, { stored, lengths }: DescribedJob, now: number) {
  const { input: _, output: __, steps, ...job } = known(fn, id, stored, now);
  const text = (field: string) => textOf(stored, field) || undefined;
  return defined({
    ...job,
    flow: text('flow') === undefined ? undefined : (true as const),
    stalls: Number(text('stalls') ?? 0) || 0,
    key: text('key'),
    options: withoutHeaders(text('options')),
    // What was cut of an output counts.
    steps: steps?.map((step) => ({
      ...step,
      bytes: step.bytes + cutOf(stepField(step.name), stored, lengths),
    })),
    input: sizeOf(lengths, 'input'),
    output: job.state === 'succeeded' ? sizeOf(lengths, 'output') : undefined,
    streams: streamsOf(stored),
    more: moreOf(stored),
  });
}

function known(fn: string, id: string, stored: StoredJob, now: number) {
  try {
    return toJob(fn, id, stored, rawCodec, now);
  } catch (error) {
    if (!(error instanceof MalformedJobError)) throw error;
    // Another program wrote it: what can be read of it is shown.
    return toJob(fn, id, new Map([...stored, ['status', Buffer.from('idle')]]), rawCodec, now);
  }
}

/** How many entries it has streamed of each kind. */
function streamsOf(stored: StoredJob): { output?: number; log?: number } | undefined {
  const count = (kind: StreamKind) => Number(textOf(stored, `${kind}:count`)) || undefined;
  const [output, log] = [count('output'), count('log')];
  return output || log ? defined({ output, log }) : undefined;
}

function sizeOf(lengths: DescribedJob['lengths'], field: string): { bytes: number } | undefined {
  const bytes = lengths.get(field);
  return bytes === undefined ? undefined : { bytes };
}

function cutOf(field: string, stored: StoredJob, lengths: DescribedJob['lengths']): number {
  return (lengths.get(field) ?? 0) - (stored.get(field)?.byteLength ?? 0);
}

function moreOf(stored: StoredJob): Record<string, string> {
  const isShown = (field: string) =>
    !KNOWN.test(field) || (field === 'status' && !isStatus(textOf(stored, field)));
  const others = [...stored.keys()].filter(isShown).slice(0, MAX_MORE);
  return Object.fromEntries(others.map((field) => [field, textOf(stored, field) ?? '']));
}

/** Headers are shown by themselves, redacted. */
function withoutHeaders(json: string | undefined): string | undefined {
  if (json === undefined) return undefined;
  try {
    const options = JSON.parse(json) as Record<string, unknown>;
    return JSON.stringify({ ...options, headers: undefined });
  } catch {
    return undefined;
  }
}

/** Leaves payloads as they are: what is shown of a job never depends on whether its payloads can be read. */
const rawCodec: Codec = {
  name: 'raw',
  encode: (value) => String(value),
  decode: () => undefined,
};
