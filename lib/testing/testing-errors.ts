import { GearMonkeyError } from '../job/gearmonkey-error.js';

/** An invalid call of a test: the app was not started, or a function has no handler, or a job does not exist. */
export class JobTestingError extends GearMonkeyError {
  readonly code = 'JOB_TESTING';
}

/** A wait of a test timed out. The message shows the state of the jobs. */
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
