import { isPromise } from 'node:util/types';
import { ConfigurationError, messageOf, type JobErrorInfo } from '../job/errors.js';
import type { JobHeaders } from '../job/headers.js';
import type { RunEnd } from '../job/instrumentation.js';
import type { Claim, Outcome } from '../job/job-source.js';
import type { RunningJob } from './running-job.js';

/** How one run of a job ended. */
export interface EndedRun {
  readonly fn: string;
  readonly id: string;
  readonly headers: JobHeaders;
  /** The number of this attempt, without stalled ones. */
  readonly attempt: number;
  /** Its outcome, `lost` if its lease was lost, or `cancelled`. */
  readonly end: RunEnd;
  /** Of `error` and `retry`. */
  readonly error?: JobErrorInfo | undefined;
  /** Milliseconds until it runs again, of `retry`, `snoozed` and `held`. */
  readonly delay?: number | undefined;
  /** How long the run took, in milliseconds. */
  readonly took: number;
}

/** What an app does around the runs of its jobs. */
export interface RunMiddleware {
  /**
   * Around each run of a handler, with its guards, pipes, interceptors and filters. `next` runs it, and must be called. The
   * output is the handler's, whatever this returns; what it throws fails the attempt in place of the handler's error.
   */
  aroundRun?(job: RunningJob, next: () => Promise<unknown>): unknown;

  /** After each run, before its outcome is written. It changes nothing; what it throws is logged. */
  onOutcome?(run: EndedRun): unknown;
}

/** Runs a handler through all `aroundRun`. The output is the handler's. @throws what a hook throws · ConfigurationError */
export function runThrough(
  middleware: readonly RunMiddleware[],
  job: RunningJob,
  handle: () => Promise<unknown>,
): Promise<unknown> {
  const step = (from: number): Promise<unknown> => {
    const at = middleware.findIndex((one, index) => index >= from && one.aroundRun !== undefined);
    const one = middleware[at];
    if (!one) return handle();
    return callAround<unknown, []>(
      'aroundRun',
      (next) => one.aroundRun?.(job, next),
      () => step(at + 1),
    );
  };
  return step(0);
}

/** Tells all `onOutcome` how a run ended. */
export function tellOutcome(
  middleware: readonly RunMiddleware[],
  run: EndedRun,
  onError: (message: string) => void,
): void {
  const failed = (error: unknown) => onError(`onOutcome of "${run.fn}" failed: ${messageOf(error)}`);
  for (const one of middleware) {
    try {
      const told = one.onOutcome?.(run);
      if (isPromise(told)) told.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** @param end of a run without an outcome */
export function endedRun(
  { fn, id, options }: Claim,
  outcome: Outcome | undefined,
  { attempt, end, took }: { attempt: number; end: RunEnd; took: number },
): EndedRun {
  return Object.freeze({
    fn,
    id,
    headers: options.headers ?? {},
    attempt,
    end: outcome?.status ?? end,
    error: outcome && 'error' in outcome ? frozen(outcome.error) : undefined,
    delay: outcome && 'delay' in outcome ? outcome.delay : undefined,
    took,
  });
}

/** A copy: the outcome is written as it is. */
function frozen(error: JobErrorInfo): JobErrorInfo {
  return Object.freeze({ ...error, ...(error.cause && { cause: frozen(error.cause) }) });
}

/** Calls a hook, and returns what its `next` did, once: what the hook returns is ignored. */
export async function callAround<Result, Args extends unknown[]>(
  hook: string,
  call: (next: (...args: Args) => Promise<Result>) => unknown,
  go: (...args: Args) => Promise<Result>,
): Promise<Result> {
  let done: Promise<Result> | undefined;
  const next = (...args: Args) => {
    done ??= go(...args);
    // Its rejection is handled below, when the hook has ended.
    done.catch(() => undefined);
    return done;
  };
  await call(next);
  if (!done)
    throw new ConfigurationError(`\`${hook}\` ended without calling next(). To refuse a job, throw.`);
  return done;
}
