import type { IncomingMessage } from 'node:http';
import { ApiFailure } from './dashboard-errors.js';
import type { CheckedDashboard } from './dashboard.options.js';
import { isNavigation } from './request-facts.js';

/** An answer that a cache would give to others. */
const NOT_STORED = { 'cache-control': 'no-store' };

/** The answer to who is not signed in: a browser that opens a page goes to `login`, if there is one. */
export function refusal({ login, auth }: CheckedDashboard, request: IncomingMessage): ApiFailure {
  if (login !== undefined && isNavigation(request))
    return new ApiFailure(302, 'NOT_LOGGED_IN', 'Log in first.', { location: login, ...NOT_STORED });
  const { challenge } = auth ?? {};
  const asks: Record<string, string> = challenge === undefined ? {} : { 'www-authenticate': challenge };
  return new ApiFailure(401, 'NOT_LOGGED_IN', 'Log in first.', { ...asks, ...NOT_STORED });
}
