import { GearMonkeyError, type JobErrorInfo } from '../../job/errors.js';

/** The master knows no such job: it never existed, was cancelled, or ended more than a day ago. */
export class JqJobNotFoundError extends GearMonkeyError {
  readonly code = 'JQ_JOB_NOT_FOUND';

  constructor(
    readonly id: string,
    options?: ErrorOptions,
  ) {
    super(`There is no job ${id}: it never was, was cancelled, or ended too long ago.`, options);
  }
}

/** The job has begun, or has ended: only jobs that wait for their first attempt can be cancelled. */
export class JqNotCancellableError extends GearMonkeyError {
  readonly code = 'JQ_NOT_CANCELLABLE';

  constructor(readonly id: string) {
    super(`Job ${id} can't be cancelled any more: it has begun. Wait for its end.`);
  }
}

/** The job ended as a failure. */
export class JqJobFailedError extends GearMonkeyError {
  readonly code = 'JQ_JOB_FAILED';

  constructor(
    readonly id: string,
    /** The worker's message for people. */
    readonly reason: string,
    /** The worker's error for programs: a JobErrorInfo from our workers, any value from others. */
    readonly error: JobErrorInfo | unknown,
  ) {
    super(`Job ${id} failed: ${reason}`);
  }
}
