import { isObservable, type Observable } from 'rxjs';
import { ProgressUpdate } from '../job/job.js';
import type { RunningJob } from './running-job.js';

/** The output of whatever a handler returned; what it reports on the way goes to `job.update`. */
export function settleResult(result: unknown, job: RunningJob): unknown {
  if (isObservable(result)) return settleObservable(result, job);
  if (isAsyncGenerator(result)) return settleGenerator(result, job);
  return result;
}

async function settleGenerator(generator: AsyncGenerator<unknown>, job: RunningJob): Promise<unknown> {
  try {
    for (;;) {
      const { done, value } = await generator.next();
      if (done) return value;
      if (value instanceof ProgressUpdate) await job.update(value.dividend, value.divisor);
      job.signal.throwIfAborted();
    }
  } catch (error) {
    await generator.return(undefined).catch(() => undefined);
    throw error;
  }
}

/** Unsubscribes when the job is aborted. Updates go out in order; a failed one fails the job. */
function settleObservable(source: Observable<unknown>, job: RunningJob): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let output: unknown;
    let updates = Promise.resolve();
    const { signal } = job;
    const stop = () => finish(() => reject(signal.reason as Error));
    const finish = (end: () => void) => {
      signal.removeEventListener('abort', stop);
      subscription.unsubscribe();
      end();
    };
    const next = (value: unknown) => {
      if (value instanceof ProgressUpdate) {
        updates = updates.then(() => job.update(value.dividend, value.divisor));
        updates.catch((error: unknown) => finish(() => reject(error as Error)));
      } else {
        output = value;
      }
    };
    const complete = () =>
      void updates.then(
        () => finish(() => resolve(output)),
        () => undefined,
      );
    // Delayed, so that a source that ends while being subscribed finds `subscription` set.
    const subscription = source.subscribe({
      next,
      complete: () => queueMicrotask(complete),
      error: (error: unknown) => queueMicrotask(() => finish(() => reject(error as Error))),
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.asyncIterator in value &&
    'next' in value &&
    typeof value.next === 'function'
  );
}
