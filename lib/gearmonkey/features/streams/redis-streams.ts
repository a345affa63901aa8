import {
  MAX_ENTRIES,
  MAX_STREAM_BYTES,
  STREAM_SECONDS,
  type StreamKind,
  type StreamPage,
  type StreamRecords,
} from '../../../job/streams.js';
import type { RecordingJob } from '../../../job/steps.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import type { StoreServer } from '../../core/client/store-server.js';
import type { InsistsForJob } from '../../core/source/record-fields.js';
import { streamKey, type KeysOf } from '../../core/wire/protocol.js';
import * as scripts from './stream-scripts.js';
import type { StreamStore } from './stream-store.js';

/** Most entries of a stream that one call reads. */
const PAGE = 500;

/** Reads streams for clients. */
export class RedisStreams implements StreamStore {
  constructor(private readonly server: StoreServer) {}

  read(fn: string, id: string, kind: StreamKind, from: number, wanted?: () => boolean): Promise<StreamPage> {
    const job = this.server.keysOf(fn).jobs + id;
    const keys = [job, streamKey(job, kind)];
    return this.server.questions.ask(
      fn,
      'Reading a stream',
      (redis) => scripts.readStream.run(redis, keys, kind, from, PAGE),
      { wanted },
    );
  }
}

/** Writes streams for workers. */
export class StreamWriter implements StreamRecords {
  constructor(
    private readonly commands: InsistsForJob,
    private readonly keysOf: KeysOf,
    /** Called when a write is refused, and will be repeated. */
    private readonly onRefused: (fn: string, error: unknown) => void = () => undefined,
  ) {}

  /** During an outage, or while writes are refused, it waits. */
  append(
    claim: RecordingJob,
    kind: StreamKind,
    sent: number,
    entries: readonly Uint8Array[],
  ): Promise<boolean> {
    const { jobs, leases, progress } = this.keysOf(claim.fn);
    const job = jobs + claim.id;
    const limits = [MAX_ENTRIES, MAX_STREAM_BYTES, STREAM_SECONDS] as const;
    const keys = [job, leases, streamKey(job, kind), progress];
    return this.commands.insistForJob(
      (redis) => scripts.append.run(redis, keys, memberOf(claim), kind, sent, ...limits, entries),
      (error) => this.onRefused(claim.fn, error),
    );
  }
}
