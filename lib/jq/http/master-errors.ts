import { GearMonkeyError, messageOf } from '../../job/errors.js';

/** The master could not be reached, or only answered "later", until the time was over. */
export class JqUnreachableError extends GearMonkeyError {
  readonly code = 'JQ_UNREACHABLE';

  constructor(
    readonly master: string,
    what: string,
    cause: unknown,
  ) {
    super(
      `${what}: the master at ${master} did not answer in time (${messageOf(cause)}). ` +
        'Check that it is up and that `master` is its address.',
      { cause },
    );
  }
}

/** The master answered, and refused. `status` is HTTP's, `reason` the master's own code. */
export class JqRefusedError extends GearMonkeyError {
  readonly code = 'JQ_REFUSED';

  constructor(
    what: string,
    readonly status: number,
    readonly reason: string | undefined,
    message: string | undefined,
  ) {
    super(`${what}: the master refused with ${status}${message ? `: ${message}` : ''}${remedy(status)}`);
  }
}

function remedy(status: number): string {
  return status === 401 || status === 403 ? ' Check `token`.' : '';
}
