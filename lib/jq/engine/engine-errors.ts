import { toCause } from '../../job/cause.js';
import { GearMonkeyError } from '../../job/errors.js';
import type { EngineSettings } from './settings.js';

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

/** One token, or one address where there are no tokens, has as much as it may have. Nothing was written. */
export class ClientLimitError extends GearMonkeyError {
  readonly code = 'CLIENT_LIMIT';

  constructor(
    /** How many of what it may have. */
    what: string,
    readonly option: string,
  ) {
    super(
      `This client may have ${what}, and would have more. Try again when some have ended, or raise \`${option}\` of the master.`,
    );
  }
}

/** For what a worker was not registered. */
export function clientLimit(
  reason: 'client workers' | 'client jobs',
  settings: Pick<EngineSettings, 'max_client_workers' | 'max_client_jobs'>,
): ClientLimitError {
  return reason === 'client workers'
    ? new ClientLimitError(`${settings.max_client_workers} workers`, 'maxWorkersPerClient')
    : new ClientLimitError(`workers for ${settings.max_client_jobs} jobs at a time`, 'maxJobsPerClient');
}

/** An Idempotency-Key that came with another job before. Nothing was written. */
export class KeyReusedError extends GearMonkeyError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';

  constructor() {
    super('This Idempotency-Key was used for another job. Take a new key for each job.');
  }
}
