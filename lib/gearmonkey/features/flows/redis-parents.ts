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
import { RefusedError } from '../../../job/server-errors.js';
import { isRefusedForNow } from '../../../redis/redis-errors.js';
import type { InsistsForJob } from '../../core/source/record-fields.js';
import type { KeysOf } from '../../core/wire/protocol.js';
import { errorOf, stateOf, textOf, type StoredJob } from '../../core/wire/stored-job.js';
import { nameFromWire } from '../../core/wire/wire-names.js';

/** What is read of a parent. */
const PARENT_FIELDS = ['status', 'mark', 'output', 'error', 'cancelled'] as const;

/** How many parents are read at a time. */
const PARENTS_AT_ONCE = 100;

interface Commands extends InsistsForJob {
  insist<T>(call: (redis: Redis | Cluster) => Promise<T>): Promise<T>;
}

type Job = Pick<FlowEntry, 'fn' | 'id'>;

/** The jobs that a running job waited for. */
export class RedisParents implements ParentRecords {
  /** Functions whose jobs this user has been allowed to read. */
  private readonly allowed = new Set<string>();

  constructor(
    private readonly commands: Commands,
    private readonly keysOf: KeysOf,
    /** What `keysOf` puts before names. */
    private readonly prefix = '',
    /** Called when a read is refused, and will be repeated. */
    private readonly onRefused: (fn: string, error: unknown) => void = () => undefined,
  ) {}

  /** @throws RefusedError if its user has what each worker needs, and not what this needs, nor had it before */
  async parents(job: Job): Promise<RecordedParent[]> {
    const list = `${this.keysOf(job.fn).jobs}${job.id}:parents`;
    const entries = await this.read(job, job.fn, (redis) => redis.lrange(list, 0, -1));
    const found: RecordedParent[] = [];
    for (const some of chunksOf(entries, PARENTS_AT_ONCE))
      found.push(...(await Promise.all(some.flatMap((entry) => this.parentOf(job, entry)))));
    return found;
  }

  private parentOf(job: Job, text: string): Promise<RecordedParent>[] {
    const entry = readEntry(text);
    if (!entry) return [];
    const key = `job:${entry.fn}:${entry.id}`;
    const fn = nameFromWire(this.keysOf, entry.fn, this.prefix) ?? entry.fn;
    const ask = this.read(job, fn, (redis) => redis.hmgetBuffer(key, ...PARENT_FIELDS));
    return [ask.then((values) => parentFrom({ ...entry, fn }, values))];
  }

  /** Reads jobs of `fn` for `job`. */
  private async read<T>(job: Job, fn: string, question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    const onRefused = (error: unknown) => this.onRefused(job.fn, error);
    if (this.allowed.has(fn)) return this.commands.insistForJob(question, onRefused);
    const insist = () => this.commands.insist(question);
    const answer = await insist().catch(async (error: unknown) => {
      if (!isRefusedForNow(error)) throw error;
      // Each worker reads this: without a right to it, the user has lost more than it lacked.
      const own = this.keysOf(job.fn).jobs + job.id;
      await this.commands.insistForJob((redis) => redis.hmget(own, 'mark'), onRefused);
      return insist().catch((again: unknown) => {
        if (!isRefusedForNow(again)) throw again;
        // The start of a worker does not check what only flows need.
        throw new RefusedError(`Reading jobs of "${fn}" that another waited for`, again);
      });
    });
    this.allowed.add(fn);
    return answer;
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
