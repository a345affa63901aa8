import { toCause } from './cause.js';
import { GearMonkeyError, messageOf } from './errors.js';
import { reasonOf } from './error-info.js';

/** The server didn't acknowledge the jobs in time. They may have been enqueued if the connection broke meanwhile. */
export class EnqueueTimeoutError extends GearMonkeyError {
  readonly code = 'ENQUEUE_TIMEOUT';

  constructor(
    readonly fn: string,
    readonly timeout: number,
    cause?: unknown,
  ) {
    super(
      `The server didn't acknowledge a job of "${fn}" within ${timeout} ms${cause ? `: ${reasonOf(cause)}` : ''}. ` +
        'Check that it is up and reachable, and that `connection` is right; raise `enqueueTimeout` if it is only slow.',
      cause === undefined ? {} : { cause: toCause(cause) },
    );
  }
}

/** `runMany` enqueued only some of its jobs before `cause` happened. */
export class PartlyEnqueuedError extends GearMonkeyError {
  readonly code = 'PARTLY_ENQUEUED';

  constructor(
    readonly fn: string,
    /** Ids of the jobs that are known to be created, in the order of their inputs. Unique jobs that were there before are not among them. */
    readonly ids: readonly string[],
    asked: number,
    cause: unknown,
  ) {
    super(
      `${ids.length} of ${asked} jobs of "${fn}" were enqueued, then: ${messageOf(cause)} ` +
        'Cancel the jobs in `ids` and enqueue all again, or read their inputs and enqueue only the others.',
      { cause },
    );
  }
}

/** The server is down, unreachable, or refused the command. */
export class ConnectionError extends GearMonkeyError {
  readonly code = 'CONNECTION';

  /** For calls and waits after the close. @internal */
  static closed(what = 'The connection is closed'): ConnectionError {
    return new ConnectionError(what, 'the module was shut down');
  }

  constructor(what: string, cause: unknown) {
    const reason = reasonOf(cause);
    super(`${what}: ${reason}. ${remedyOf(reason)}`, { cause: toCause(cause) });
  }
}

/** A server that refuses a login, or has no room, is up. */
function remedyOf(reason: string): string {
  if (/\bmaxclients\b|max number of clients/.test(reason))
    return 'Raise its `maxclients`, or have fewer programs connected: docs/operate/connections.md says how many connections each has.';
  return /\b(?:WRONGPASS|NOAUTH|invalid password)\b/.test(reason)
    ? 'Check the user and the password of `connection`.'
    : 'Check that the server is up and its address is right: `connection`, or `--redis` of a program.';
}

/** The server refused the command: out of memory, no permission, a key of the wrong type. No job was created. */
export class RefusedError extends GearMonkeyError {
  readonly code = 'REFUSED';

  constructor(what: string, cause: unknown) {
    super(
      `${what} was refused by the server: ${reasonOf(cause)}. Waiting won't help; fix it on the server.`,
      {
        cause: toCause(cause),
      },
    );
  }
}

/** The jobs were enqueued, but not on as many replicas as requested: they may be lost if this server fails. */
export class NotDurableError extends GearMonkeyError {
  readonly code = 'NOT_DURABLE';

  constructor(
    readonly fn: string,
    /** Ids of the jobs that were created. Unique jobs that were there before are not among them. */
    readonly ids: readonly string[],
    readonly reason: string,
  ) {
    super(
      `${ids.length === 0 ? `The job of "${fn}" with this unique key exists` : `${ids.length} jobs of "${fn}" were enqueued`}, but ${reason}. ` +
        `Don't enqueue them again; check the replicas of the server.`,
    );
  }
}
