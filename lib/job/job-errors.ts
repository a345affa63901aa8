import type { JobErrorInfo } from './error-info.js';
import { GearMonkeyError } from './gearmonkey-error.js';

/** The awaited job has failed or was cancelled. `cause` is its error. */
export class JobFailedError extends GearMonkeyError {
  readonly code = 'JOB_FAILED';

  constructor(
    readonly fn: string,
    readonly id: string,
    readonly error: JobErrorInfo,
  ) {
    super(`Job ${id} of "${fn}" failed: ${error.message}`, { cause: error });
  }
}

/** The job didn't finish within the caller's timeout; it continues. */
export class WaitTimeoutError extends GearMonkeyError {
  readonly code = 'WAIT_TIMEOUT';

  constructor(
    readonly fn: string,
    readonly id: string,
    /** Milliseconds. */
    readonly timeout: number,
    /** Why it did not begin, if that is known. */
    reason?: string,
  ) {
    const why = reason === undefined ? '' : `: ${reason}`;
    super(`Job ${id} of "${fn}" didn't finish within ${timeout} ms${why}. It goes on; read it with get().`);
  }
}

/** No such job: it never existed, or finished and is no longer kept. */
export class JobNotFoundError extends GearMonkeyError {
  readonly code = 'JOB_NOT_FOUND';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(`There is no job ${id} of "${fn}": it never existed, or it finished and is no longer kept.`);
  }
}

/** The job was lost in a failover of the server, and another job now has its id. */
export class JobLostError extends GearMonkeyError {
  readonly code = 'JOB_LOST';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(
      `Job ${id} of "${fn}" was lost with its server, and another has its id now. Enqueue it again if it may run twice; ` +
        "`durability: 'wait'` prevents it.",
    );
  }
}

/** A stored job whose fields no implementation of the protocol writes. */
export class MalformedJobError extends GearMonkeyError {
  readonly code = 'MALFORMED_JOB';

  constructor(
    readonly fn: string,
    readonly id: string,
    reason: string,
  ) {
    super(`Job ${id} of "${fn}" is malformed: ${reason}. Inspect its hash in Redis and delete it.`);
  }
}

/** The job runs on a plain worker, which can't receive a cancellation. The job continues. */
export class NotCancellableError extends GearMonkeyError {
  readonly code = 'NOT_CANCELLABLE';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(
      `Job ${id} of "${fn}" runs on a plain GearMonkey worker, which can't be told to stop. Wait until it finishes.`,
    );
  }
}

/** The job can't be changed any more: a worker has begun it, or it has finished. Nothing was written. */
export class JobBegunError extends GearMonkeyError {
  readonly code = 'JOB_BEGUN';

  constructor(
    readonly fn: string,
    readonly id: string,
    /** Whether it has finished, too. */
    readonly finished: boolean,
  ) {
    super(
      `Job ${id} of "${fn}" can't be changed: it has ${finished ? 'finished' : 'begun'}. ` +
        'Only jobs that wait for their first run can; enqueue another one.',
    );
  }
}
