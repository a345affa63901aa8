import { toCause } from '../../job/cause.js';
import { GearMonkeyError } from '../../job/errors.js';
import type { EngineSettings } from './settings.js';

/** Redis did not answer, or refused, or the master is shutting down. `cause` has the details, which are not for clients. The request may have been executed. */
export class EngineUnavailableError extends GearMonkeyError {
  readonly code = 'UNAVAILABLE';

  constructor(cause: unknown, message = "Redis can't be asked now. Try again soon.") {
    super(message, { cause: toCause(cause) });
  }
}

/** Why a master that hands out no more jobs takes no request. */
export function shuttingDown(): EngineUnavailableError {
  return new EngineUnavailableError(undefined, 'The master is shutting down. Try again soon.');
}

/** The queue is full. Nothing was written. */
export class QueueFullError extends GearMonkeyError {
  readonly code = 'QUEUE_FULL';

  constructor() {
    super('Too many jobs wait already. Try again later.');
  }
}

/** One token, or one address if there are no tokens, has reached a limit. Nothing was written. */
export class ClientLimitError extends GearMonkeyError {
  readonly code = 'CLIENT_LIMIT';

  constructor(
    /** The limit, such as `5 workers`. */
    what: string,
    readonly option: string,
  ) {
    super(
      `This client may have ${what}, and would have more. Try again when some have ended, or raise \`${option}\` of the master.`,
    );
  }
}

/** Why a worker was not registered. */
export function clientLimit(
  reason: 'client workers' | 'client jobs',
  settings: Pick<EngineSettings, 'max_client_workers' | 'max_client_jobs'>,
): ClientLimitError {
  return reason === 'client workers'
    ? new ClientLimitError(`${settings.max_client_workers} workers`, 'maxWorkersPerClient')
    : new ClientLimitError(`workers for ${settings.max_client_jobs} jobs at a time`, 'maxJobsPerClient');
}

/** The Idempotency-Key was used for another job. Nothing was written. */
export class KeyReusedError extends GearMonkeyError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';

  constructor() {
    super('This Idempotency-Key was used for another job. Take a new key for each job.');
  }
}
