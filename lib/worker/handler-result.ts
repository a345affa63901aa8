import { isPromise } from 'node:util/types';
import { isObservable, type Observable, type Unsubscribable } from 'rxjs';
import { ProgressUpdate } from '../job/job.js';
import { OutputChunk } from '../job/streams.js';
import type { RunningJob } from './running-job.js';

type AnyGenerator = AsyncGenerator<unknown> | Generator<unknown>;

/**
 * Takes the output from what a handler returned, or promised, and passes its progress to `job.update` and its chunks to
 * `job.chunk`.
 */
export function settleResult(result: unknown, job: RunningJob): unknown {
  if (isPromise(result)) return result.then((value) => settleResult(value, job));
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
      if (yielded instanceof OutputChunk) await job.chunk(yielded.value);
      job.signal.throwIfAborted();
    }
  } catch (error) {
    await close(generator);
    throw error;
  }
}

/** Runs the generator's `finally` blocks; other iterators may lack `return`. Only the first error is kept. */
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
      if (value instanceof ProgressUpdate)
        updates = updates.then(() => job.update(value.dividend, value.divisor));
      else if (value instanceof OutputChunk) updates = updates.then(() => job.chunk(value.value));
      else return void (output = value);
      updates.catch(fail);
    };
    const complete = () => updates.then(() => resolve(output)).then(end, () => undefined);
    // Delayed: an Observable may end during `subscribe`, before `subscription` is set.
    subscription = source.subscribe({
      next,
      complete: () => queueMicrotask(() => void complete()),
      error: (error: unknown) => queueMicrotask(() => fail(error)),
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
}

/** An error of the teardown doesn't change the job's outcome. */
function release(subscription: Unsubscribable | undefined): void {
  try {
    subscription?.unsubscribe();
  } catch {
    return;
  }
}

/** Only generators report progress: arrays, maps and streams can be iterated too, but they are outputs. */
function isGenerator(value: unknown): value is AnyGenerator {
  if (typeof value !== 'object' || value === null || !has(value, 'next')) return false;
  return (
    Symbol.asyncIterator in value || (Symbol.iterator in value && has(value, 'return') && has(value, 'throw'))
  );
}

function has(value: object, method: 'next' | 'return' | 'throw'): boolean {
  return method in value && typeof (value as Partial<AnyGenerator>)[method] === 'function';
}
