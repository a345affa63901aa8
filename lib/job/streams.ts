import type { Payload } from './codec.js';
import { checkWhole } from './check-whole.js';
import { bytesOf } from './codec.js';
import { checkOptions, optionNames } from './known-options.js';
import type { RecordingJob } from './steps.js';

/** What a job streams: its output in chunks, or lines of its log. */
export type StreamKind = 'output' | 'log';

/** How many entries of each kind a job keeps, and how many bytes of them: older ones are dropped. */
export const MAX_ENTRIES = 10_000;
export const MAX_STREAM_BYTES = 1024 * 1024;
/** How long they can be read after the last one. */
export const STREAM_SECONDS = 25 * 3600;
/** Largest chunk, as the codec writes it. */
export const MAX_CHUNK_BYTES = 64 * 1024;
/** Longest line of a log, in characters; longer ones are cut. */
export const MAX_LINE = 8192;

/** Where a source keeps what jobs stream. */
export interface StreamRecords {
  /**
   * Adds entries to what a job streams, if the claim is held, unless it has them: `sent` is how many this claim has added
   * before. Returns whether it is held.
   */
  append(
    claim: RecordingJob,
    kind: StreamKind,
    sent: number,
    entries: readonly Uint8Array[],
  ): Promise<boolean>;
}

/** One of the entries that a job has streamed. */
export interface StreamEntry<Value = unknown> {
  /** Its place among the job's entries of its kind, of all attempts. The first is 1. */
  readonly number: number;
  readonly time: Date;
  readonly value: Value;
}

/** From where on a stream is read. */
export interface StreamOptions {
  /** The number of the last entry that is not wanted, such as the last one that was read. @default 0, all entries */
  after?: number;
}

const STREAM = optionNames<Required<StreamOptions>>({ after: true });

/** How many entries are passed over. @throws ConfigurationError, InvalidOptionError */
export function checkStream(call: string, options: StreamOptions): number {
  const { after = 0 } = checkOptions(call, options, STREAM);
  return checkWhole('after', after, 0);
}

/** A part of what a job has streamed. */
export interface StreamPage {
  /** Oldest first. Those before were read, or dropped. */
  readonly entries: readonly Uint8Array[];
  /** The number of the entry after these. */
  readonly next: number;
  /** How many there have been in all. */
  readonly total: number;
}

/** `{TIME}:`, and the bytes. */
export function writeEntry(time: number, value: Payload): Uint8Array {
  return Buffer.concat([Buffer.from(`${time}:`), bytesOf(value)]);
}

/** The time and value of an entry. Undefined for what is none of ours. */
export function readEntry(entry: Uint8Array): { time: number; value: Uint8Array } | undefined {
  const all = Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength);
  const head = /^(\d{1,15}):/.exec(all.toString('latin1', 0, 16));
  return head ? { time: Number(head[1]), value: all.subarray(head[0].length) } : undefined;
}

/** Yielded or emitted by a handler to stream a part of its output: `yield chunk(text)`. */
export class OutputChunk<Value = unknown> {
  constructor(readonly value: Value) {}
}

/** A part of a job's output, for those who watch it meanwhile. It is no part of what the handler returns. */
export function chunk<Value>(value: Value): OutputChunk<Value> {
  return new OutputChunk(value);
}
