import type { RunningJob } from '../worker/running-job.js';
import type { JobName } from './held-jobs.js';
import { keyOf } from './job-records.js';

interface Failure {
  readonly error: unknown;
  left: number;
}

/** What a test wants to happen to jobs as their handlers run. */
export class Interventions {
  private readonly failures = new Map<string, Failure[]>();
  private readonly whenRun = new Map<string, (() => void)[]>();

  /** The handler throws `error` in its next runs, in place of what it would do. */
  failNext(fn: string, error: unknown, times: number): void {
    this.failures.set(fn, [...(this.failures.get(fn) ?? []), { error, left: times }]);
  }

  /** Calls back once, as soon as the handler of this job has begun. */
  onNextRun({ fn, id }: JobName, callback: () => void): void {
    const key = keyOf(fn, id);
    this.whenRun.set(key, [...(this.whenRun.get(key) ?? []), callback]);
  }

  /** Called before each run of a handler. @throws what the test wants it to throw */
  readonly beforeRun = ({ fn, id }: RunningJob): void => {
    const key = keyOf(fn, id);
    for (const callback of this.whenRun.get(key) ?? []) queueMicrotask(callback);
    this.whenRun.delete(key);
    const [failure, ...later] = this.failures.get(fn) ?? [];
    if (!failure) return;
    failure.left -= 1;
    if (failure.left === 0) this.failures.set(fn, later);
    throw failure.error;
  };

  clear(): void {
    this.failures.clear();
    this.whenRun.clear();
  }
}
