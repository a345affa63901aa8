import { describe, messageOf, type JobErrorInfo } from './error-info.js';
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

/** A function name that can't be used on the wire. */
export class InvalidFunctionNameError extends GearMonkeyError {
  readonly code = 'INVALID_FUNCTION_NAME';
}

/** A function that a feature module's client was not given. Nothing was written. */
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

/** An option out of its range or of the wrong type. Nothing was written. */
export class InvalidOptionError extends GearMonkeyError {
  readonly code = 'INVALID_OPTION';
  /** What was given; of a URL, without its credentials. */
  readonly value: unknown;

  constructor(
    readonly option: string,
    value: unknown,
    readonly expected: string,
  ) {
    super(`Expected \`${option}\` to be ${expected}, got ${describe(value)}.`);
    this.value = typeof value === 'string' ? withoutSecrets(value) : value;
    // The message has what may be shown of it.
    Object.defineProperty(this, 'value', { enumerable: false });
  }
}

/** An input or output larger than the limit of the module. Nothing was written. */
export class PayloadTooLargeError extends GearMonkeyError {
  readonly code = 'PAYLOAD_TOO_LARGE';

  constructor(
    readonly fn: string,
    readonly what: 'input' | 'output',
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
    readonly what: 'input' | 'output',
    codec: string,
    cause: unknown,
  ) {
    super(
      `The ${what} of "${fn}" can't be written as ${codec}: ${messageOf(cause)}. ` +
        'Pass plain data, or choose another codec for the definition.',
      { cause },
    );
  }
}

/** Bytes that the codec can't read. The job fails with it; the worker goes on. */
export class UnreadablePayloadError extends GearMonkeyError {
  readonly code = 'UNREADABLE_PAYLOAD';

  constructor(
    readonly fn: string,
    readonly what: 'input' | 'output',
    codec: string,
    reason: string,
  ) {
    super(
      `The ${what} of "${fn}" is not readable as ${codec}: ${reason}. ` +
        'Send what the codec expects, or give the definition the codec of the sender.',
    );
  }
}

/** One thing a schema found wrong. */
export interface ValidationIssue {
  readonly message: string;
  readonly path: string;
}

/** A payload that its schema refuses; never retried. */
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

/** An input that its schema takes, but not as the codec brings it to the handler. Nothing was written. */
export class ChangedByCodecError extends GearMonkeyError {
  readonly code = 'CHANGED_BY_CODEC';
  readonly issues: readonly ValidationIssue[];

  constructor(
    readonly fn: string,
    codec: string,
    cause: ValidationError,
  ) {
    super(
      `The input of "${fn}" matches its schema, but not what ${codec} makes of it on the way: ${listOf(cause.issues)}. ` +
        "Choose a codec that keeps it, such as 'msgpack', or a schema that takes what arrives, such as z.coerce.date().",
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

/** The job that was waited for ended with status `error`. `cause` is its error. */
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

/** The job didn't finish while its caller waited; it goes on. */
export class WaitTimeoutError extends GearMonkeyError {
  readonly code = 'WAIT_TIMEOUT';

  constructor(
    readonly fn: string,
    readonly id: string,
    /** Milliseconds. */
    readonly timeout: number,
  ) {
    super(`Job ${id} of "${fn}" didn't finish within ${timeout} ms. It goes on; read it with get().`);
  }
}

/** No such job: it never existed, or finished more than 25 hours ago. */
export class JobNotFoundError extends GearMonkeyError {
  readonly code = 'JOB_NOT_FOUND';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(`There is no job ${id} of "${fn}": it never was, or it finished more than 25 hours ago.`);
  }
}

/** The job was lost in a failover of the server, and another job has its id now. */
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

/** A stored job whose fields no implementation of the protocol would have written. */
export class MalformedJobError extends GearMonkeyError {
  readonly code = 'MALFORMED_JOB';

  constructor(
    readonly fn: string,
    readonly id: string,
    reason: string,
  ) {
    super(`Job ${id} of "${fn}" is malformed: ${reason}. Look at its hash and delete it.`);
  }
}

/** A wrong configuration, at startup, or an unknown option. */
export class ConfigurationError extends GearMonkeyError {
  readonly code = 'CONFIGURATION';
}

/** The job runs on a plain worker, which receives no messages. It goes on. */
export class NotCancellableError extends GearMonkeyError {
  readonly code = 'NOT_CANCELLABLE';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(
      `Job ${id} of "${fn}" runs on a plain GearMonkey worker, which can't be told to stop. Wait for its end.`,
    );
  }
}
