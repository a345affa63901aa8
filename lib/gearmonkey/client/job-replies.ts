import type { Cluster, Redis } from 'ioredis';
import { MalformedJobError } from '../../job/errors.js';
import type { StoredJob } from '../wire/stored-job.js';
import type { ReadProgress } from './job-store.js';

/** Reads a job's progress from its hash. */
export async function readProgress(redis: Redis | Cluster, key: string): Promise<ReadProgress> {
  return toProgress(await redis.hmget(key, 'status', 'status:dividend', 'status:divisor', 'mark'));
}

/** A job's hash; undefined if there is none. */
export function toStored(hash: Record<string, Buffer>): StoredJob | undefined {
  const fields = Object.entries(hash);
  return fields.length === 0 ? undefined : new Map(fields);
}

function toProgress([status, dividend, divisor, mark]: (string | null | undefined)[]): ReadProgress {
  const [parts, all] = [Number(dividend ?? Number.NaN), Number(divisor ?? Number.NaN)];
  const progress = { dividend: parts, divisor: all, mark: Number(mark ?? 0) };
  const isOver = status === null || status === 'success' || status === 'error';
  return { isOver, progress: Number.isNaN(parts) || Number.isNaN(all) ? undefined : progress };
}

/** Explains that a job's key has another type. @throws MalformedJobError */
export function wrongType(fn: string, id: string) {
  return (error: unknown): never => {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) {
      throw new MalformedJobError(fn, id, 'its key does not hold a hash');
    }
    throw error;
  };
}
