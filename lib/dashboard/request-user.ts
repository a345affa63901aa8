import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { rawRequest } from './request-facts.js';

const users = new WeakMap<object, DashboardUser>();

/** Notes who a request is from, once that is known. */
export function noteUser(request: object, user: DashboardUser): void {
  users.set(rawRequest(request), user);
}

/** Who the request is from. @throws ApiFailure 401 */
export function userOf(request: object): DashboardUser {
  const user = users.get(rawRequest(request));
  if (!user) throw new ApiFailure(401, 'NOT_LOGGED_IN', 'Log in first.');
  return user;
}
