import { payloadBytes, write, type Codec } from '../job/codec.js';
import { ConfigurationError, InvalidOptionError, PayloadTooLargeError } from '../job/errors.js';
import { showAs } from '../job/show-as.js';
import type { Claim } from '../job/job-source.js';
import {
  MAX_CHUNK_BYTES,
  MAX_LINE,
  writeEntry,
  type StreamKind,
  type StreamRecords,
} from '../job/streams.js';

export interface JobStreamsOptions {
  readonly claim: Claim;
  /** Absent in systems that keep no streams. */
  readonly records: StreamRecords | undefined;
  readonly codec: Codec;
  readonly now: () => number;
  /** Called when another worker has the job: it throws. */
  readonly onLost: () => void;
}

/** A handler that streams faster than the server takes it waits from here on. */
const MOST_QUEUED_BYTES = 256 * 1024;
/** Entries and bytes of one call. */
const [MOST_SENT, MOST_SENT_BYTES] = [500, 256 * 1024];

/** What one run of a job streams. */
export class JobStreams {
  static {
    showAs(JobStreams, () => ({}));
  }

  private readonly writers = new Map<StreamKind, StreamWriter>();

  constructor(private readonly options: JobStreamsOptions) {}

  /** @throws NotSerializableError, PayloadTooLargeError, and what the server refused earlier */
  async chunk(value: unknown): Promise<void> {
    const { codec, claim } = this.options;
    const bytes = write(codec, claim.fn, 'chunk', value);
    const length = payloadBytes(bytes);
    if (length > MAX_CHUNK_BYTES) throw new PayloadTooLargeError(claim.fn, 'chunk', length, MAX_CHUNK_BYTES);
    await this.writer('output').push(writeEntry(this.options.now(), bytes));
  }

  /** @throws InvalidOptionError, and what the server refused earlier */
  async log(line: string): Promise<void> {
    if (typeof line !== 'string') throw new InvalidOptionError('line', line, 'text');
    const cut = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line;
    await this.writer('log').push(writeEntry(this.options.now(), cut.toWellFormed()));
  }

  /** Resolves when the server has everything. @throws what it refused */
  async flush(): Promise<void> {
    await Promise.all([...this.writers.values()].map((writer) => writer.flush()));
  }

  private writer(kind: StreamKind): StreamWriter {
    const { claim, records, onLost } = this.options;
    if (!records)
      throw new ConfigurationError(
        `The handler of "${claim.fn}" streamed its ${kind}, which is for jobs of GearMonkey and memory.`,
      );
    let writer = this.writers.get(kind);
    if (!writer) {
      writer = new StreamWriter(async (sent, entries) => {
        if (!(await records.append(claim, kind, sent, entries))) onLost();
      });
      this.writers.set(kind, writer);
    }
    return writer;
  }
}

/** Sends entries in order, one call at a time, each with what has come meanwhile. */
class StreamWriter {
  private queue: Uint8Array[] = [];
  private bytes = 0;
  private sent = 0;
  private sending: Promise<void> | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(private readonly send: (sent: number, entries: readonly Uint8Array[]) => Promise<void>) {}

  async push(entry: Uint8Array): Promise<void> {
    if (this.failure) throw this.failure.error;
    this.queue.push(entry);
    this.bytes += entry.byteLength;
    this.sending ??= this.sendAll();
    if (this.bytes > MOST_QUEUED_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    await this.sending;
    if (this.failure) throw this.failure.error;
  }

  private async sendAll(): Promise<void> {
    try {
      // What the handler streams at once goes in one call.
      await Promise.resolve();
      while (this.queue.length > 0) {
        const entries = this.take();
        await this.send(this.sent, entries);
        this.sent += entries.length;
      }
    } catch (error) {
      this.failure = { error };
      this.queue = [];
    } finally {
      this.sending = undefined;
    }
  }

  private take(): Uint8Array[] {
    let [count, bytes] = [0, 0];
    while (count < Math.min(this.queue.length, MOST_SENT) && bytes < MOST_SENT_BYTES)
      bytes += this.queue[count++]?.byteLength ?? 0;
    this.bytes -= bytes;
    return this.queue.splice(0, count);
  }
}
