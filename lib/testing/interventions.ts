import type { RunningJob } from '../worker/running-job.js';
import { keyOf, type JobName } from './job-records.js';

interface Failure {
  readonly error: unknown;
  left: number;
}

/** What a test does to jobs while their handlers run: errors and cancellations. */
export class Interventions {
  private readonly failures = new Map<string, Failure[]>();
  private readonly whenRun = new Map<string, (() => void)[]>();

  /** Makes the next runs of a handler throw `error`. */
  failNext(fn: string, error: unknown, times: number): void {
    this.failures.set(fn, [...(this.failures.get(fn) ?? []), { error, left: times }]);
  }

  /** Calls back once, as soon as the handler of this job has begun. */
  onNextRun({ fn, id }: JobName, callback: () => void): void {
    const key = keyOf(fn, id);
    this.whenRun.set(key, [...(this.whenRun.get(key) ?? []), callback]);
  }

  /** Called before each run of a handler. @throws the error that the test has set */
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
