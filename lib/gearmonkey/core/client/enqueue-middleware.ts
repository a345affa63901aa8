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
export async function enqueueThrough(
  middleware: readonly EnqueueMiddleware[],
  jobs: readonly JobsToEnqueue[],
  enqueue: (jobs: readonly JobsToEnqueue[]) => Promise<readonly JobEnqueued[]>,
): Promise<readonly JobEnqueued[]> {
  let isOver = false;
  const step = async (from: number, now: readonly JobsToEnqueue[]): Promise<readonly JobEnqueued[]> => {
    // Its caller has heard that the jobs were refused.
    if (isOver) throw new ConfigurationError('`aroundEnqueue` called next() after the call had failed.');
    const at = middleware.findIndex((one, index) => index >= from && one.aroundEnqueue !== undefined);
    const one = middleware[at];
    if (!one) return enqueue(now);
    const given = now.map(({ fn, inputs }) => ({ fn, count: inputs.length }));
    return callAround<readonly JobEnqueued[], [changed?: readonly JobsToEnqueue[]]>(
      'aroundEnqueue',
      (next) => one.aroundEnqueue?.(now, next),
      async (changed = now) => step(at + 1, checkChanged(given, changed)),
    );
  };
  try {
    return await step(0, jobs);
  } finally {
    isOver = true;
  }
}

/** Jobs of one function, as a hook got them. */
interface Given {
  readonly fn: string;
  readonly count: number;
}

/** Reads what a hook passes on, once. @throws ConfigurationError, InvalidOptionError */
function checkChanged(given: readonly Given[], changed: readonly JobsToEnqueue[]): readonly JobsToEnqueue[] {
  const NEXT = 'next of aroundEnqueue';
  if (!Array.isArray(changed) || changed.length !== given.length)
    throw new InvalidOptionError(NEXT, changed, `a list of ${given.length}, as it was given`);
  return given.map(({ fn, count }, index) => {
    const one = changed[index] as JobsToEnqueue | null | undefined;
    if (typeof one !== 'object' || one === null)
      throw new InvalidOptionError(NEXT, one, 'a list of objects, as it was given');
    const { fn: named, inputs, options } = one;
    if (named !== fn)
      throw new ConfigurationError(
        `\`aroundEnqueue\` passed jobs of ${describe(named)} to next() where it was given jobs of "${fn}". It may change inputs and options.`,
      );
    if (!Array.isArray(inputs) || inputs.length !== count)
      throw new InvalidOptionError('inputs', inputs, `a list of ${count}, as it was given`);
    return { fn, inputs: [...(inputs as readonly unknown[])], options };
  });
}
