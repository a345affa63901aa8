import { isObservable, type Observable, type Unsubscribable } from 'rxjs';
import { ProgressUpdate } from '../job/job.js';
import type { RunningJob } from './running-job.js';

type AnyGenerator = AsyncGenerator<unknown> | Generator<unknown>;

/** The output of a handler's result; its progress goes to `job.update`. */
export function settleResult(result: unknown, job: RunningJob): unknown {
  if (isObservable(result)) return settleObservable(result, job);
  if (isGenerator(result)) return settleGenerator(result, job);
  return result;
}

async function settleGenerator(generator: AnyGenerator, job: RunningJob): Promise<unknown> {
  try {
    for (;;) {
      const { done, value } = await generator.next();
      if (done) return await value;
      const yielded = await value;
      if (yielded instanceof ProgressUpdate) await job.update(yielded.dividend, yielded.divisor);
      job.signal.throwIfAborted();
    }
  } catch (error) {
    await close(generator);
    throw error;
  }
}

/** Runs its `finally`; an iterator that is no generator may lack the method. The first error counts. */
async function close(generator: Partial<AnyGenerator>): Promise<void> {
  try {
    await generator.return?.(undefined);
  } catch {
    return;
  }
}

/** Unsubscribes when the job is aborted. Updates go out in order; a failed one fails the job. */
function settleObservable(source: Observable<unknown>, job: RunningJob): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let output: unknown;
    let updates = Promise.resolve();
    let subscription: Unsubscribable | undefined;
    const { signal } = job;
    const stop = () => fail(signal.reason);
    const end = () => {
      signal.removeEventListener('abort', stop);
      release(subscription);
    };
    const fail = (error: unknown) => {
      reject(error as Error);
      end();
    };
    const next = (value: unknown) => {
      if (!(value instanceof ProgressUpdate)) return void (output = value);
      updates = updates.then(() => job.update(value.dividend, value.divisor));
      updates.catch(fail);
    };
    const complete = () => updates.then(() => resolve(output)).then(end, () => undefined);
    // Delayed, so that a source that ends while being subscribed finds `subscription` set.
    subscription = source.subscribe({
      next,
      complete: () => queueMicrotask(() => void complete()),
      error: (error: unknown) => queueMicrotask(() => fail(error)),
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
}

/** A teardown that throws doesn't change how the job ended. */
function release(subscription: Unsubscribable | undefined): void {
  try {
    subscription?.unsubscribe();
  } catch {
    return;
  }
}

/** Arrays and maps can be iterated too, and are outputs; so are streams. */
function isGenerator(value: unknown): value is AnyGenerator {
  if (typeof value !== 'object' || value === null || !has(value, 'next')) return false;
  return (
    Symbol.asyncIterator in value || (Symbol.iterator in value && has(value, 'return') && has(value, 'throw'))
  );
}

function has(value: object, method: 'next' | 'return' | 'throw'): boolean {
  return method in value && typeof (value as Partial<AnyGenerator>)[method] === 'function';
}
