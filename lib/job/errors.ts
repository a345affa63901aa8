import { isPromise } from 'node:util/types';
import { describe, reasonOf } from './error-info.js';
import { withoutSecrets } from './secrets.js';
import { GearMonkeyError } from './gearmonkey-error.js';

export { GearMonkeyError };
export {
  isErrorInfo,
  messageOf,
  toErrorInfo,
  type ErrorDetail,
  type ErrorInfoOptions,
  type JobErrorInfo,
} from './error-info.js';

export {
  JobBegunError,
  JobFailedError,
  JobLostError,
  JobNotFoundError,
  MalformedJobError,
  NotCancellableError,
  WaitTimeoutError,
} from './job-errors.js';

/** A function name that can't be used on the wire. */
export class InvalidFunctionNameError extends GearMonkeyError {
  readonly code = 'INVALID_FUNCTION_NAME';
}

/** The client of a feature module does not know this function. Nothing was written. */
export class UnknownFunctionError extends GearMonkeyError {
  readonly code = 'UNKNOWN_FUNCTION';

  constructor(
    readonly fn: string,
    known: readonly string[],
  ) {
    super(
      `This client is for ${known.join(', ')} only, not for "${fn}". ` +
        'Add its definition to GearMonkeyModule.forFeature, or inject the client of the root module.',
    );
  }
}

const ONE_BY_A_FUNCTION =
  ' Give the value that it returns; what makes options from the configuration returns all of them: ' +
  "`@Worker('mail', (config) => ({ … }))`, `forRootAsync({ useFactory })`.";

/** An option out of its range or of the wrong type. Nothing was written. */
export class InvalidOptionError extends GearMonkeyError {
  readonly code = 'INVALID_OPTION';
  /** The given value; a URL is shown without credentials. */
  readonly value: unknown;

  constructor(
    readonly option: string,
    value: unknown,
    readonly expected: string,
    options?: ErrorOptions,
  ) {
    const remedy = typeof value === 'function' ? ONE_BY_A_FUNCTION : '';
    super(`Expected \`${option}\` to be ${expected}, got ${describe(value)}.${remedy}`, options);
    // Such as that of an async function. It may fail, and an unhandled rejection would end the process.
    if (isPromise(value)) value.catch(() => undefined);
    this.value = typeof value === 'string' ? withoutSecrets(value) : value;
    // Not enumerable: the message already says what may be shown.
    Object.defineProperty(this, 'value', { enumerable: false });
  }
}

/** What a codec writes and reads. */
export type PayloadPart = 'input' | 'output' | 'step output' | 'signal' | 'chunk';

/** An input, output or signal larger than the limit of the module. Nothing was written. */
export class PayloadTooLargeError extends GearMonkeyError {
  readonly code = 'PAYLOAD_TOO_LARGE';

  constructor(
    readonly fn: string,
    readonly what: Exclude<PayloadPart, 'step output'>,
    readonly bytes: number,
    readonly limit: number,
  ) {
    super(
      `The ${what} of "${fn}" has ${bytes} bytes, more than the limit of ${limit}. ` +
        'Store it elsewhere and pass a reference, or raise `maxPayloadBytes`.',
    );
  }
}

/** A value that the codec can't write: circular, BigInt, a function … Nothing was written. */
export class NotSerializableError extends GearMonkeyError {
  readonly code = 'NOT_SERIALIZABLE';

  constructor(
    readonly fn: string,
    readonly what: PayloadPart,
    codec: string,
    cause: unknown,
  ) {
    super(
      `The ${what} of "${fn}" can't be written as ${codec}: ${reasonOf(cause)}. ` +
        'Pass plain data, or choose another codec for the definition.',
      { cause },
    );
  }
}

/** Bytes that the codec can't read. The job fails with this error; the worker continues. */
export class UnreadablePayloadError extends GearMonkeyError {
  readonly code = 'UNREADABLE_PAYLOAD';

  constructor(
    readonly fn: string,
    readonly what: PayloadPart,
    codec: string,
    reason: string,
  ) {
    super(
      `The ${what} of "${fn}" is not readable as ${codec}: ${reason}. ` +
        'Use the same codec on both sides: send this format, or change the codec of the definition.',
    );
  }
}

/** One problem that a schema found. */
export interface ValidationIssue {
  readonly message: string;
  readonly path: string;
}

/** A payload that does not match its schema; the job is never retried. */
export class ValidationError extends GearMonkeyError {
  readonly code = 'VALIDATION_FAILED';

  constructor(
    readonly fn: string,
    readonly what: 'input' | 'output',
    readonly issues: readonly ValidationIssue[],
  ) {
    super(`The ${what} of "${fn}" doesn't match its schema: ${listOf(issues)}.`);
  }
}

function listOf(issues: readonly ValidationIssue[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ');
}

/** An input that matches its schema, but no longer does once the codec has written and read it. Nothing was written. */
export class ChangedByCodecError extends GearMonkeyError {
  readonly code = 'CHANGED_BY_CODEC';
  readonly issues: readonly ValidationIssue[];

  constructor(
    readonly fn: string,
    codec: string,
    cause: ValidationError,
  ) {
    super(
      `The input of "${fn}" matches its schema, but no longer does after ${codec} has written and read it: ${listOf(cause.issues)}. ` +
        "Choose a codec that keeps it, such as 'msgpack', or a schema that accepts the result, such as z.coerce.date().",
    );
    this.issues = cause.issues;
  }
}

/** A roll call found no worker for the function. Nothing was enqueued. */
export class NoWorkersError extends GearMonkeyError {
  readonly code = 'NO_WORKERS';

  constructor(readonly fn: string) {
    super(`No worker is registered for "${fn}". Start one, or enqueue without \`rollCall\`.`);
  }
}

/** A wrong configuration or an unknown option. */
export class ConfigurationError extends GearMonkeyError {
  readonly code = 'CONFIGURATION';
}
