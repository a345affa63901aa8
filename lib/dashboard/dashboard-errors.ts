import { GearMonkeyError } from '../job/errors.js';

/** The dashboard has no `auth`, and would be open to others than this machine. Give it `auth`, or listen on 127.0.0.1. */
export class DashboardOpenError extends GearMonkeyError {
  readonly code = 'DASHBOARD_OPEN';

  constructor(why: string) {
    super(
      `The dashboard has no \`auth\`, and ${why}. Give DashboardModule an \`auth\`, such as basicAuth({ users }), or listen on 127.0.0.1 outside production.`,
    );
  }
}

/** A reply with a status of 300 or more. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Further headers of the reply. */
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  static notFound(what: string): ApiFailure {
    return new ApiFailure(404, 'NOT_FOUND', `There is no ${what}.`);
  }

  static invalid(what: string, expected: string): ApiFailure {
    return new ApiFailure(400, 'INVALID_REQUEST', `\`${what}\` must be ${expected}.`);
  }

  static notAllowed(what: string): ApiFailure {
    return new ApiFailure(403, 'NOT_ALLOWED', `You may not ${what}.`);
  }
}
