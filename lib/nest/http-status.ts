import { GearMonkeyError } from '../job/errors.js';

/** Status by error code, for errors that an HTTP client may see. All others are bugs of the app, or reveal its internals. */
const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    400: [
      'VALIDATION_FAILED',
      'CHANGED_BY_CODEC',
      'NOT_SERIALIZABLE',
      'INVALID_OPTION',
      'INVALID_FUNCTION_NAME',
      'QLESS_ARGUMENT',
      'LIMIT_KEY',
    ],
    404: [
      'JOB_NOT_FOUND',
      'LIMIT_UNKNOWN',
      'UNKNOWN_PARENT',
      'QLESS_JOB_NOT_FOUND',
      'JQ_JOB_NOT_FOUND',
      'SCHEDULE_NOT_FOUND',
    ],
    409: [
      'NOT_CANCELLABLE',
      'JOB_BEGUN',
      'JQ_NOT_CANCELLABLE',
      'QLESS_STATE',
      'QLESS_DEPENDENCY',
      'QLESS_JOB_LOST',
      'SCHEDULE_EXISTS',
      'SCHEDULE_OF_OTHER_APP',
    ],
    413: ['PAYLOAD_TOO_LARGE'],
    429: ['LIMIT_FULL'],
    503: [
      'NO_WORKERS',
      'CONNECTION',
      'ENQUEUE_TIMEOUT',
      'REFUSED',
      'JQ_UNREACHABLE',
      'PEER_LOST',
      'JOBD_DATABASE',
    ],
    504: ['WAIT_TIMEOUT'],
  }).flatMap(([status, codes]) => codes.map((code) => [code, Number(status)] as const)),
);

/** The HTTP status of an error that a controller throws, or undefined if the client must not see the error. */
export function httpStatusOf(error: unknown): number | undefined {
  if (!(error instanceof GearMonkeyError)) return undefined;
  // The handler, not the caller, is responsible for an output.
  return 'what' in error && error.what === 'output' ? undefined : STATUSES.get(error.code);
}
