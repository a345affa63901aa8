import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import type { Payload } from '../../../job/codec.js';
import type { Claim } from '../../../job/job-source.js';
import { JOB_RETRIED, readEntry, type FlowEntry, type RecordedParent } from '../../../job/flows.js';
import { isFinal } from '../../../job/job-state.js';
import type { RecordingJob, StepRecords } from '../../../job/steps.js';
import { MAX_ENTRIES, MAX_STREAM_BYTES, STREAM_SECONDS, type StreamKind } from '../../../job/streams.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import { recordFields, type InsistsOnWrite } from '../../core/source/record-fields.js';
import { streamKey, type KeysOf } from '../../core/wire/protocol.js';
import { errorOf, stateOf, textOf, type StoredJob } from '../../core/wire/stored-job.js';
import { nameFromWire } from '../../core/wire/wire-names.js';
import { time, type Now } from '../../core/wire/scripts.js';
import * as scripts from './record-scripts.js';

/** What is read of a parent. */
const PARENT_FIELDS = ['status', 'mark', 'output', 'error', 'cancelled'] as const;

/** How many parents are read at a time. */
const PARENTS_AT_ONCE = 100;

interface Asked extends InsistsOnWrite {
  insist<T>(call: (redis: Redis | Cluster) => Promise<T>): Promise<T>;
}

/** What jobs record while they run, in their hashes. */
export class RedisRecords implements StepRecords {
  constructor(
    private readonly commands: Asked,
    private readonly keysOf: KeysOf,
    /** What `keysOf` puts before names. */
    private readonly prefix = '',
    /** '' is the server's time. */
    private readonly timeOf: () => Now = () => '',
    /** Called when a write is refused, and will be repeated. */
    private readonly onRefused: (fn: string, error: unknown) => void = () => undefined,
  ) {}

  now({ fn, id }: RecordingJob): Promise<number> {
    return this.commands.insist((redis) => time.run(redis, [this.keysOf(fn).jobs + id], this.timeOf()));
  }

  async parents({ fn, id }: RecordingJob): Promise<RecordedParent[]> {
    const list = `${this.keysOf(fn).jobs}${id}:parents`;
    const entries = await this.commands.insist((redis) => redis.lrange(list, 0, -1));
    const found: RecordedParent[] = [];
    for (const some of chunksOf(entries, PARENTS_AT_ONCE))
      found.push(...(await Promise.all(some.flatMap((entry) => this.parentOf(entry)))));
    return found;
  }

  private parentOf(text: string): Promise<RecordedParent>[] {
    const entry = readEntry(text);
    if (!entry) return [];
    const key = `job:${entry.fn}:${entry.id}`;
    const fn = nameFromWire(this.keysOf, entry.fn, this.prefix) ?? entry.fn;
    const ask = this.commands.insist((redis) => redis.hmgetBuffer(key, ...PARENT_FIELDS));
    return [ask.then((values) => parentFrom({ ...entry, fn }, values))];
  }

  async read({ fn, id }: Claim, fields: readonly string[]): Promise<Map<string, Uint8Array>> {
    const values = await this.commands.insist((redis) =>
      redis.hmgetBuffer(this.keysOf(fn).jobs + id, ...fields),
    );
    return new Map(values.flatMap((value, index) => (value ? [[fields[index] ?? '', value]] : [])));
  }

  write(claim: Claim, fields: ReadonlyMap<string, Payload>, removed: readonly string[]): Promise<boolean> {
    return recordFields(this.commands, this.keysOf, { claim, fields, removed }, (error) =>
      this.onRefused(claim.fn, error),
    );
  }

  /** During an outage, or while writes are refused, it waits. */
  append(claim: Claim, kind: StreamKind, sent: number, entries: readonly Uint8Array[]): Promise<boolean> {
    const { jobs, leases, progress } = this.keysOf(claim.fn);
    const job = jobs + claim.id;
    const limits = [MAX_ENTRIES, MAX_STREAM_BYTES, STREAM_SECONDS] as const;
    const keys = [job, leases, streamKey(job, kind), progress];
    return this.commands.insistOnWrite(
      (redis) => scripts.append.run(redis, keys, memberOf(claim), kind, sent, ...limits, entries),
      (error) => this.onRefused(claim.fn, error),
    );
  }
}

/** A parent from the values of `PARENT_FIELDS`. One with another mark is another job. */
function parentFrom(
  { fn, id, mark }: FlowEntry,
  values: readonly (Uint8Array | null | undefined)[],
): RecordedParent {
  const stored: StoredJob = new Map(
    PARENT_FIELDS.flatMap((field, i) => (values[i] ? [[field, values[i]] as const] : [])),
  );
  const base = { fn, id, output: stored.get('output') ?? new Uint8Array() };
  const isLost = mark !== '' && (textOf(stored, 'mark') || '0') !== mark;
  if (isLost || !stored.get('status')?.byteLength) return { ...base, state: 'lost' };
  const state = stateOf(stored, 0);
  // It had ended, or the job would not run.
  if (!isFinal(state))
    return { ...base, state: 'failed', error: { ...JOB_RETRIED, message: 'had failed, and was retried' } };
  return state === 'succeeded' ? { ...base, state } : { ...base, state, error: errorOf(stored) };
}
