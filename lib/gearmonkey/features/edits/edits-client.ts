import { Observable, distinctUntilChanged, switchMap } from 'rxjs';
import type { FunctionRef, InputOf } from '../../../job/job-definition.js';
import type { JobFeeds } from '../../core/client/job-feeds.js';
import type { CancelOptions, UpdateOptions } from '../../core/client/run-options.js';
import type { ClientCore } from '../../core/feature.js';
import { drain, type DrainJobsOptions } from './drain.js';
import type { EditsStore, EditStore } from './edit-store.js';
import { JobEdits } from './job-edits.js';

/** The methods of a `GearMonkeyClient` that change jobs and functions. */
export class EditsClient {
  readonly #core: ClientCore<EditsStore>;
  readonly #jobs: JobEdits;

  /** @internal */
  constructor(core: ClientCore<EditsStore>) {
    this.#core = core;
    this.#jobs = new JobEdits(core);
  }

  /**
   * Cancels a job that waits, is scheduled, will be retried, or runs on a worker of this package; the handler's
   * `job.signal` aborts. Programs that use the plain protocol see an error with the output "cancelled".
   *
   * @returns true if it is cancelled, now or before; false if it had finished in another way, or runs and `running` is false
   * @throws ConfigurationError, InvalidOptionError · JobNotFoundError · NotCancellableError if a plain worker runs it
   */
  async cancel(ref: FunctionRef, id: string | number, options: CancelOptions = {}): Promise<boolean> {
    return this.#jobs.cancel(ref, { id: String(id) }, options);
  }

  /** The largest id of the function's jobs so far; 0 if there was none. @internal */
  async lastId(ref: FunctionRef): Promise<number> {
    return this.#core.store.edits.lastId(this.#core.functions.nameOf(ref));
  }

  /** The same as `cancel`, but false for a job that was cancelled before: to count. @internal */
  async cancelNow(ref: FunctionRef, id: string | number, options: CancelOptions = {}): Promise<boolean> {
    return this.#jobs.cancelNow(ref, { id: String(id) }, options);
  }

  /**
   * Changes a job that waits and that no handler has run: its input, its priority or its time. What is left out stays.
   * It is not an event: observers see it with the job's next change.
   *
   * @throws as `run` for an invalid input or option, before anything is written · JobNotFoundError · JobBegunError if
   * it has begun or finished
   */
  async update<F extends FunctionRef>(
    ref: F,
    id: string | number,
    changes: UpdateOptions<InputOf<F>>,
  ): Promise<void> {
    return this.#jobs.update(ref, { id: String(id) }, changes);
  }

  /**
   * Pauses the function: no worker of this package, in any process, begins another of its jobs until `resume`. Running
   * jobs go on, and clients may enqueue. Plain workers take jobs from their queues themselves and don't stop.
   */
  async pause(ref: FunctionRef): Promise<void> {
    await this.#core.store.edits.pause(this.#core.functions.nameOf(ref), true);
  }

  /** Ends a pause; workers begin with the jobs that wait at once. Does nothing if the function is not paused. */
  async resume(ref: FunctionRef): Promise<void> {
    await this.#core.store.edits.pause(this.#core.functions.nameOf(ref), false);
  }

  /** Whether the function is paused. */
  async isPaused(ref: FunctionRef): Promise<boolean> {
    return this.#core.store.edits.isPaused(this.#core.functions.nameOf(ref));
  }

  /** Emits whether the function is paused, now and after every change. */
  watchPaused(ref: FunctionRef): Observable<boolean> {
    const { store, functions, feeds } = this.#core;
    return observePaused(store.edits, feeds, functions.nameOf(ref));
  }

  /**
   * Removes jobs that wait, by default all of them, and returns how many. Each ends as an error with the code
   * `JOB_DRAINED`, which callers and observers receive. Running jobs and jobs that are created meanwhile stay.
   * Jobs are not counted whose reply was lost with a connection.
   *
   * @throws ConfigurationError, InvalidOptionError · the reason of `signal` when that aborts
   */
  async drain(ref: FunctionRef, options: DrainJobsOptions = {}): Promise<number> {
    return drain(this.#core.store.edits, this.#core.functions.nameOf(ref), options);
  }
}

/** Emits whether a function is paused: now, and after each change. Completes when observers are ended. */
function observePaused(store: EditStore, feeds: JobFeeds, fn: string): Observable<boolean> {
  const read = () =>
    new Observable<boolean>((subscriber) => {
      store
        .isPaused(fn, () => !subscriber.closed)
        .then(
          (paused) => {
            subscriber.next(paused);
            subscriber.complete();
          },
          (error: unknown) => subscriber.error(error),
        );
    });
  // A message may be another database's, so the state is read again.
  return new Observable<boolean>((subscriber) => {
    subscriber.add(feeds.onEnd(() => subscriber.complete()));
    if (subscriber.closed) return;
    subscriber.add(changesOf(store, fn).pipe(switchMap(read), distinctUntilChanged()).subscribe(subscriber));
  });
}

/** Emits once it listens, and when the function may have been paused or resumed. */
function changesOf(store: EditStore, fn: string): Observable<void> {
  return new Observable<void>((subscriber) => {
    const listening = store.listenToControl(fn, () => subscriber.next());
    listening.then(
      () => subscriber.next(),
      (error: unknown) => subscriber.error(error),
    );
    return () => void listening.then((unlisten) => unlisten()).catch(() => undefined);
  });
}
