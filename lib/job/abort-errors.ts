import { GearMonkeyError, messageOf } from './errors.js';
import { signalWords } from './signals.js';

/** Why a job's signal was aborted. */
export abstract class JobAbortedError extends GearMonkeyError {}

/** Another worker has the job now; the outcome of this one is refused. */
export class LeaseLostError extends JobAbortedError {
  readonly code = 'LEASE_LOST';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(`Job ${id} of "${fn}" was given to another worker, because its lease expired here.`);
  }
}

/** The job ran longer than its timeout. It counts as a failed attempt. */
export class JobTimeoutError extends JobAbortedError {
  readonly code = 'JOB_TIMEOUT';

  constructor(
    readonly fn: string,
    readonly id: string,
    readonly timeout: number,
  ) {
    super(`Job ${id} of "${fn}" ran longer than its timeout of ${timeout} ms.`);
  }
}

/** The job was cancelled while it ran. */
export class JobCancelledError extends JobAbortedError {
  readonly code = 'JOB_CANCELLED';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super('cancelled');
  }
}

/** The worker shut down before the job had finished; the job went back to its queue. */
export class ShutdownError extends JobAbortedError {
  readonly code = 'SHUTDOWN';

  constructor() {
    super('The worker is shutting down; the job goes back to the front of its queue.');
  }
}

/** The job waits for a signal and is not run meanwhile. Its handler runs again when that comes, with its steps done. */
export class JobWaitsError extends JobAbortedError {
  readonly code = 'JOB_WAITS';

  constructor(
    readonly fn: string,
    readonly id: string,
    /** The first one of these wakes it. */
    readonly signals: readonly string[],
  ) {
    super(`Job ${id} of "${fn}" waits for ${signalWords(signals)}. Its handler must not catch this.`);
  }
}

/** What stood around the run of the job failed before its handler had ended. It counts as a failed attempt. */
export class AttemptFailedError extends JobAbortedError {
  readonly code = 'ATTEMPT_FAILED';

  constructor(
    readonly fn: string,
    readonly id: string,
    cause: unknown,
  ) {
    super(`The attempt of job ${id} of "${fn}" failed outside of its handler: ${messageOf(cause)}`, {
      cause,
    });
  }
}
