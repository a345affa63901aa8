import { RefusedError } from '../job/server-errors.js';
import type { Action } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import type { DashboardAccess, ViewedFunction } from './viewed-instance.js';

/** What a user wants to do to a function, or to a job of it. */
export interface Concern extends ViewedFunction {
  readonly user: DashboardUser;
  readonly request: { readonly action: Action; readonly id?: string; readonly dry?: true };
}

interface Found {
  readonly functions: readonly string[];
  /** Functions of which the app may not read whether they are concerned. */
  readonly unread?: readonly string[];
  /** Whether there may be more. */
  readonly isWhole: boolean;
}

/**
 * The functions that an action concerns, if there are more than the one that it names: those that share a limit, and those
 * whose jobs wait for the one that is cancelled. All need the user's rights.
 *
 * @throws ApiFailure 403
 */
export async function concernedBy(access: DashboardAccess, concern: Concern): Promise<readonly string[]> {
  const { user, fn } = concern;
  const found = await foundBy(concern, isUnlimited(user));
  const all = [...new Set([fn, ...found.functions])].toSorted();
  check(access, concern, { ...found, functions: all });
  return all.length > 1 ? all : [];
}

/** Whether a user may do everything: then no function has to be looked for. */
export function isUnlimited({ view, act }: DashboardUser): boolean {
  return view === true && act === true;
}

async function foundBy({ request, client, fn }: Concern, mayAll: boolean): Promise<Found> {
  const { action, id } = request;
  try {
    if (action === 'limit-set' || action === 'limit-reset')
      return { ...(await client.sharing(fn)), isWhole: true };
    if (action === 'cancel' && id !== undefined) return await client.waiting(fn, id);
  } catch (error) {
    // The app may have no rights to ask. Then only who may change all functions may do it.
    if (!mayAll || !(error instanceof RefusedError)) throw error;
  }
  return { functions: [], isWhole: true };
}

function check(access: DashboardAccess, concern: Concern, { functions, unread = [], isWhole }: Found): void {
  const { user, request, i } = concern;
  if (isUnlimited(user)) return;
  const mayNot = (one: string) => !access.mayAct(user, request.action, one, i);
  const refused = functions.filter(mayNot);
  if (refused.length === 0 && unread.some(mayNot))
    throw ApiFailure.notAllowed(
      `${request.action} here: the limit is shared, and the app may not read whether other functions share it. Its Redis user needs ~control:FN of all functions, or you the right to change all of them`,
    );
  if (refused.length === 0 && isWhole) return;
  const shown = refused.filter((one) => access.mayView(user, one, i));
  const hidden = refused.length - shown.length;
  const others = [
    ...shown.map((one) => `"${one}"`),
    ...(hidden > 0 ? [`${hidden} other${hidden > 1 ? 's' : ''} that you may not see`] : []),
    ...(isWhole ? [] : ['more than can be looked at']),
  ];
  throw ApiFailure.notAllowed(`${request.action} here, since that also concerns ${others.join(', ')}`);
}
