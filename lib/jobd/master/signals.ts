import { messageOf } from '../../job/errors.js';
import type { FieldRule } from '../protocol/fields.js';
import { notServed, type JobAddress } from './manual-jobs.js';
import type { RegisteredWorker } from './registered-worker.js';
import { byWorker, type WorkerRegistry } from './worker-registry.js';

export interface SignalledJob extends JobAddress {
  readonly signal: number;
}

export const SIGNAL: FieldRule = { name: 'signal', types: ['integer'], required: true };

/** Whether each job got its signal; `errors` has the jobs whose workers could not be asked. */
export type SignalReply = Record<string, boolean | Record<string, string>>;

const ANSWER_TIMEOUT_MS = 10_000;

/** Asks every worker that serves the job's target, since it may run on any of them. */
export async function sendSignals(
  registry: WorkerRegistry,
  jobs: readonly SignalledJob[],
): Promise<SignalReply> {
  const delivered: Record<string, boolean> = {};
  const errors: Record<string, string> = {};
  const pairs: (readonly [RegisteredWorker, SignalledJob])[] = [];
  for (const job of jobs) {
    const workers = registry.serving(job.target);
    if (workers.length === 0) errors[job.id] = notServed(job.target);
    for (const worker of workers) pairs.push([worker, job]);
  }
  await Promise.all(
    [...byWorker(pairs)].map(async ([worker, asked]) => {
      try {
        const answers = await signalOn(worker, asked);
        for (const { id } of asked) delivered[id] = delivered[id] === true || answers[id] === true;
      } catch (error) {
        for (const { id } of asked) errors[id] = `worker '${worker.name}': ${messageOf(error)}`;
      }
    }),
  );
  // The answers of other workers still count.
  for (const id of Object.keys(delivered)) delete errors[id];
  return Object.keys(errors).length > 0 ? { ...delivered, errors } : delivered;
}

async function signalOn(
  worker: RegisteredWorker,
  jobs: readonly SignalledJob[],
): Promise<Record<string, unknown>> {
  const signals = Object.fromEntries(jobs.map(({ id, signal }) => [id, signal]));
  const answers = await worker.request('send-signal', { jobs: signals }, ANSWER_TIMEOUT_MS);
  return typeof answers === 'object' && answers !== null ? (answers as Record<string, unknown>) : {};
}
