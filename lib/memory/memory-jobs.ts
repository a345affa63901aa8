import type { Payload } from '../job/codec.js';
import type { JobErrorInfo } from '../job/errors.js';
import { readJobOptions } from '../gearmonkey/core/wire/job-options.js';
import { streamKey, type Queue } from '../gearmonkey/core/wire/protocol.js';
import type { StreamKind } from '../job/streams.js';
import type { TakenJob } from '../gearmonkey/core/wire/scripts.js';
import { bytes, text } from './fields.js';
import { MemoryStream } from './memory-stream.js';
import type { StoredJob } from '../gearmonkey/core/wire/stored-job.js';

type Fields = Readonly<Record<string, Payload | number | undefined>>;

const STREAM_KINDS = ['output', 'log'] as const;

/** A job as `claim` returns it. */
export interface Taken extends Omit<TakenJob, 'input'> {
  readonly input: Uint8Array;
}

/** The jobs of one function as Redis has them: a hash each. */
export class MemoryJobs {
  private readonly hashes = new Map<string, Map<string, Uint8Array>>();
  private readonly byTag = new Map<string, Set<string>>();
  private readonly streams = new Map<string, MemoryStream>();

  constructor(private readonly onDelete: (id: string) => void = () => undefined) {}

  has(id: string): boolean {
    return this.hashes.has(id);
  }

  /** A copy of its fields. */
  read(id: string): StoredJob | undefined {
    const job = this.hashes.get(id);
    return job && new Map(job);
  }

  create(id: string, fields: Fields): void {
    this.hashes.set(id, new Map());
    this.set(id, fields);
  }

  /** Sets those that have a value. */
  set(id: string, fields: Fields): void {
    const job = this.hashes.get(id);
    if (fields['options'] !== undefined) this.tag(id, String(fields['options']));
    for (const [field, value] of Object.entries(fields)) {
      if (value !== undefined) job?.set(field, value instanceof Uint8Array ? value : bytes(String(value)));
    }
  }

  clear(id: string, fields: readonly string[]): void {
    for (const field of fields) this.hashes.get(id)?.delete(field);
  }

  delete(id: string): void {
    this.tag(id, '');
    this.hashes.delete(id);
    for (const kind of STREAM_KINDS) this.streams.delete(streamKey(id, kind));
    this.onDelete(id);
  }

  /** What a job has streamed. */
  stream(id: string, kind: StreamKind): MemoryStream {
    const key = streamKey(id, kind);
    const stream = this.streams.get(key) ?? new MemoryStream();
    if (this.hashes.has(id)) this.streams.set(key, stream);
    return stream;
  }

  /** The ids of jobs with a tag. */
  tagged(tag: string): readonly string[] {
    return [...(this.byTag.get(tag) ?? [])];
  }

  /** Its options change to these. */
  private tag(id: string, options: string): void {
    for (const tag of tagsIn(this.text(id, 'options'))) {
      const ids = this.byTag.get(tag);
      ids?.delete(id);
      if (ids?.size === 0) this.byTag.delete(tag);
    }
    if (!this.hashes.has(id)) return;
    for (const tag of tagsIn(options)) this.byTag.set(tag, (this.byTag.get(tag) ?? new Set()).add(id));
  }

  bytes(id: string, field: string): Uint8Array | undefined {
    return this.hashes.get(id)?.get(field);
  }

  text(id: string, field: string): string {
    return text(this.bytes(id, field));
  }

  number(id: string, field: string): number {
    return Number(this.text(id, field) || 0);
  }

  /** Counts an attempt that begins. */
  begin(id: string, queue: Queue, now: number): Taken {
    const token = this.number(id, 'token') + 1;
    const attempts = this.number(id, 'attempts') + 1;
    const waited = token > 1 ? undefined : now - (this.number(id, 'due') || this.number(id, 'created'));
    this.set(id, { status: 'busy', token, attempts, queue, started: now });
    return {
      id,
      token,
      attempts,
      stalls: this.number(id, 'stalls'),
      snoozes: this.number(id, 'snoozes'),
      options: this.text(id, 'options'),
      input: this.bytes(id, 'input') ?? bytes(''),
      ...(waited !== undefined && { waited: Math.max(0, waited) }),
    };
  }

  /** Stores the error of this attempt. */
  note(id: string, error: JobErrorInfo): void {
    this.set(id, { [`error:${this.number(id, 'attempts')}`]: JSON.stringify(error) });
  }

  /** Whether an outcome of this claim was accepted before: sent again, it is accepted again. */
  hasSettled(id: string, token: number): boolean {
    return this.number(id, 'settled') === token;
  }

  /** Whether a handler has run it; claims that were released don't count. */
  isBegun(id: string): boolean {
    return (
      this.text(id, 'status') !== 'idle' || this.number(id, 'attempts') > 0 || this.number(id, 'snoozes') > 0
    );
  }

  /** When a job expires, in milliseconds since 1970. */
  expiryOf(id: string): number | undefined {
    const options = this.text(id, 'options');
    // Most jobs don't expire, and need not be parsed.
    return options.includes('"expires"') ? readJobOptions(options).expires : undefined;
  }

  isFinal(id: string): boolean {
    return ['success', 'error'].includes(this.text(id, 'status'));
  }
}

/** Most jobs have none, and need not be parsed. */
function tagsIn(options: string): readonly string[] {
  return options.includes('"tags":') ? (readJobOptions(options).tags ?? []) : [];
}
