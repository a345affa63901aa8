import { toCause } from '../../job/cause.js';
import { GearMonkeyError } from '../../job/errors.js';

/** Redis did not answer, or refused: `cause` says how, and is not for clients. What was asked may have been done. */
export class EngineUnavailableError extends GearMonkeyError {
  readonly code = 'UNAVAILABLE';

  constructor(cause: unknown) {
    super("Redis can't be asked now. Try again soon.", { cause: toCause(cause) });
  }
}

/** The queue is as long as it may be. Nothing was written. */
export class QueueFullError extends GearMonkeyError {
  readonly code = 'QUEUE_FULL';

  constructor() {
    super('Too many jobs wait already. Try again later.');
  }
}

/** An Idempotency-Key that came with another job before. Nothing was written. */
export class KeyReusedError extends GearMonkeyError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';

  constructor() {
    super('This Idempotency-Key was used for another job. Take a new key for each job.');
  }
}
