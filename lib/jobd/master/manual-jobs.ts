import { messageOf } from '../../job/errors.js';
import { RequestError } from '../vocabulary/errors.js';
import type { JobResult } from '../vocabulary/job-result.js';
import { checkFields, type FieldRule } from '../protocol/fields.js';
import { MAX_LISTED } from '../protocol/target-lists.js';
import { toManualReply, type ManualReply } from '../protocol/job-results.js';
import type { RequestArguments } from '../protocol/request-handlers.js';
import type { RegisteredWorker } from './registered-worker.js';
import { byWorker, type WorkerRegistry } from './worker-registry.js';

/** A job as clients name it to the master. */
export interface JobAddress {
  readonly id: number;
  readonly target: string;
}

const ADDRESS: readonly FieldRule[] = [
  { name: 'id', types: ['integer'], required: true },
  { name: 'target', types: ['string'], required: true },
];

/** @throws RequestError */
export function readJobs<T extends JobAddress>(
  { jobs }: RequestArguments,
  more: readonly FieldRule[] = [],
): T[] {
  if (!Array.isArray(jobs)) throw new RequestError('jobs must be array');
  if (jobs.length > MAX_LISTED) throw new RequestError(`more than ${MAX_LISTED} jobs`);
  return (jobs as readonly unknown[]).map((job) => checkFields(job, [...ADDRESS, ...more]) as unknown as T);
}

export function notServed(target: string): string {
  return `worker serving target '${target}' not found`;
}

/** Runs each job on a random worker that serves its target: one request per worker, one reply for all. */
export async function runManual(registry: WorkerRegistry, jobs: readonly JobAddress[]): Promise<ManualReply> {
  const done = new Map<number, JobResult>();
  const errors = new Map<number, string>();
  const pairs: (readonly [RegisteredWorker, number])[] = [];
  for (const { id, target } of new Map(jobs.map((job) => [job.id, job])).values()) {
    const worker = registry.anyServing(target);
    if (worker) pairs.push([worker, id]);
    else errors.set(id, notServed(target));
  }
  await Promise.all(
    [...byWorker(pairs)].map(async ([worker, ids]) => {
      const reply = await runOn(worker, ids);
      const [ran, failed] = [membersOf(reply.jobs), membersOf(reply.errors)];
      for (const id of ids) {
        const [job, error] = [ran.get(`${id}`), failed.get(`${id}`)];
        if (typeof job === 'object' && job !== null) done.set(id, job as JobResult);
        else errors.set(id, typeof error === 'string' ? error : `worker '${worker.name}' gave no result`);
      }
    }),
  );
  return toManualReply(done, errors);
}

/** If a worker's request fails, only its own jobs fail. */
async function runOn(
  worker: RegisteredWorker,
  ids: readonly number[],
): Promise<{ jobs?: unknown; errors?: unknown }> {
  try {
    const reply = await worker.request('run-manual', { ids });
    return typeof reply === 'object' && reply !== null ? reply : {};
  } catch (error) {
    const reason = `worker '${worker.name}': ${messageOf(error)}`;
    return { errors: Object.fromEntries(ids.map((id) => [id, reason])) };
  }
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}
