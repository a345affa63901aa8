import { describe } from '../../../job/error-info.js';
import { ConfigurationError, InvalidOptionError } from '../../../job/errors.js';
import { callAround } from '../../../worker/run-middleware.js';
import type { RunOptions } from './run-options.js';

/** Jobs of one function that are about to be enqueued, with the options of their call. */
export interface JobsToEnqueue {
  readonly fn: string;
  /** One for each job. They are encoded, and checked by the function's schema, when all middleware has seen them. */
  readonly inputs: readonly unknown[];
  /** Those of `run`, except for `blocking` and `timeout`, which are the caller's. */
  readonly options: Readonly<Omit<RunOptions<never>, 'blocking' | 'timeout'>>;
}

/** A job that was enqueued. */
export interface JobEnqueued {
  readonly fn: string;
  readonly id: string;
  /** False if its unique key had a job, which this is. */
  readonly created: boolean;
}

/** What an app does around enqueueing its jobs. */
export interface EnqueueMiddleware {
  /**
   * Around each `run`, `call`, `runMany` and `flow`: with one element for each function, or each job of a flow. `next` enqueues
   * them, with changed inputs or options if it gets any, and must be called; to refuse jobs, throw. Jobs of schedules are not
   * seen: workers create them on the server.
   */
  aroundEnqueue?(
    jobs: readonly JobsToEnqueue[],
    next: (changed?: readonly JobsToEnqueue[]) => Promise<readonly JobEnqueued[]>,
  ): unknown;
}

/** Enqueues jobs through all `aroundEnqueue`. @throws what a hook or `enqueue` throws · ConfigurationError */
export function enqueueThrough(
  middleware: readonly EnqueueMiddleware[],
  jobs: readonly JobsToEnqueue[],
  enqueue: (jobs: readonly JobsToEnqueue[]) => Promise<readonly JobEnqueued[]>,
): Promise<readonly JobEnqueued[]> {
  const step = (from: number, now: readonly JobsToEnqueue[]): Promise<readonly JobEnqueued[]> => {
    const at = middleware.findIndex((one, index) => index >= from && one.aroundEnqueue !== undefined);
    const one = middleware[at];
    if (!one) return enqueue(now);
    return callAround<readonly JobEnqueued[], [changed?: readonly JobsToEnqueue[]]>(
      'aroundEnqueue',
      (next) => one.aroundEnqueue?.(now, next),
      (changed) => step(at + 1, changed === undefined ? now : checkChanged(now, changed)),
    );
  };
  return step(0, jobs);
}

/** @throws ConfigurationError, InvalidOptionError */
function checkChanged(
  before: readonly JobsToEnqueue[],
  changed: readonly JobsToEnqueue[],
): readonly JobsToEnqueue[] {
  if (!Array.isArray(changed) || changed.length !== before.length)
    throw new InvalidOptionError(
      'next of aroundEnqueue',
      changed,
      `a list of ${before.length}, as it was given`,
    );
  return before.map(({ fn, inputs }, index) => {
    const one = changed[index] as JobsToEnqueue;
    if (one.fn !== fn)
      throw new ConfigurationError(
        `\`aroundEnqueue\` passed jobs of ${describe(one.fn)} to next() where it was given jobs of "${fn}". It may change inputs and options.`,
      );
    if (!Array.isArray(one.inputs) || one.inputs.length !== inputs.length)
      throw new InvalidOptionError('inputs', one.inputs, `a list of ${inputs.length}, as it was given`);
    return one;
  });
}
