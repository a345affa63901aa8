import { GearMonkeyError } from '../job/errors.js';

/** Errors that a caller over HTTP can make something of, by their codes. All others are mistakes in the app, or secrets of it. */
const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    400: [
      'VALIDATION_FAILED',
      'CHANGED_BY_CODEC',
      'NOT_SERIALIZABLE',
      'INVALID_OPTION',
      'INVALID_FUNCTION_NAME',
      'QLESS_ARGUMENT',
    ],
    404: ['JOB_NOT_FOUND', 'QLESS_JOB_NOT_FOUND', 'JQ_JOB_NOT_FOUND'],
    409: ['NOT_CANCELLABLE', 'JQ_NOT_CANCELLABLE', 'QLESS_STATE', 'QLESS_DEPENDENCY', 'QLESS_JOB_LOST'],
    413: ['PAYLOAD_TOO_LARGE'],
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

/** The status of an error that leaves a controller, or undefined where it is none of the caller's business. */
export function httpStatusOf(error: unknown): number | undefined {
  if (!(error instanceof GearMonkeyError)) return undefined;
  // An output is the handler's, not the caller's.
  return 'what' in error && error.what === 'output' ? undefined : STATUSES.get(error.code);
}
