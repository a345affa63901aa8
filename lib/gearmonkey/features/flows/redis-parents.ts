import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import {
  JOB_RETRIED,
  readEntry,
  type FlowEntry,
  type ParentRecords,
  type RecordedParent,
} from '../../../job/flows.js';
import { isFinal } from '../../../job/job-state.js';
import type { KeysOf } from '../../core/wire/protocol.js';
import { errorOf, stateOf, textOf, type StoredJob } from '../../core/wire/stored-job.js';
import { nameFromWire } from '../../core/wire/wire-names.js';

/** What is read of a parent. */
const PARENT_FIELDS = ['status', 'mark', 'output', 'error', 'cancelled'] as const;

/** How many parents are read at a time. */
const PARENTS_AT_ONCE = 100;

interface Commands {
  insist<T>(call: (redis: Redis | Cluster) => Promise<T>): Promise<T>;
}

/** The jobs that a running job waited for. */
export class RedisParents implements ParentRecords {
  constructor(
    private readonly commands: Commands,
    private readonly keysOf: KeysOf,
    /** What `keysOf` puts before names. */
    private readonly prefix = '',
  ) {}

  async parents({ fn, id }: { readonly fn: string; readonly id: string }): Promise<RecordedParent[]> {
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
