import { GearMonkeyError } from '../job/gearmonkey-error.js';

/** A test asked for what can't be: an app that was not started, a function without a handler, a job that is not there. */
export class JobTestingError extends GearMonkeyError {
  readonly code = 'JOB_TESTING';
}

/** What a test waited for did not come in time. The message says how far the jobs are. */
export class JobTestTimeoutError extends GearMonkeyError {
  readonly code = 'JOB_TEST_TIMEOUT';

  constructor(
    message: string,
    /** Milliseconds of real time. */
    readonly timeout: number,
  ) {
    super(message);
  }
}
