import { answerTo } from './answers.js';
import type { ActReply, ActRequest, ApiError } from './api.js';
import type { AuditEvent } from './audit.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { isRead, rawRequest } from './request-facts.js';
import { userOf } from './request-user.js';
import { ACTIONS } from './viewed-instance.js';

/** Longest text of an event that a request has brought. */
const MOST_TEXT = 500;
/** Longest span of time as text, in characters. */
const MOST_SPAN = 50;
const REFUSALS: ReadonlySet<string> = new Set(['NOT_ALLOWED', 'READ_ONLY', 'CROSS_SITE']);
/** Refusals of requests without a user. Only of changes there are events: pages ask for views all the time. */
const WITHOUT_USER: ReadonlySet<string> = new Set(['NOT_LOGGED_IN', 'LOCAL_ONLY']);
/** Refusals of what only a wrong page or program sends. */
const UNREAD: ReadonlySet<string> = new Set(['NOT_JSON', 'TOO_LARGE']);

/** What a user has asked for. */
export interface AuditedDeed {
  readonly user: DashboardUser;
  readonly request: ActRequest;
  readonly i: string;
  readonly fn: string;
}

/** Errors of which there is an event: they are not refusals of another request. */
const told = new WeakSet<object>();

/** An error as an event has it. Its answer is no event of its own then. */
export function toldOf(error: unknown): ApiError {
  if (typeof error === 'object' && error !== null) told.add(error);
  return answerTo(error)[1];
}

/** What a user has done, or was refused. */
export function deedEvent(
  { user, request, i, fn }: AuditedDeed,
  count: number | undefined,
  { reply, error }: { readonly reply?: ActReply; readonly error?: unknown } = {},
): AuditEvent {
  const { action, id, schedule, which, row, limit } = request;
  const chosen = which ?? row;
  const target = chosen ? JSON.stringify(chosen) : (id ?? schedule);
  return {
    ...{ user: user.name, action, instance: i, fn, at: new Date() },
    ...(count !== undefined && { count }),
    ...(target !== undefined && { target: target.slice(0, MOST_TEXT) }),
    ...(reply?.id !== undefined && { job: reply.id }),
    ...(reply?.functions && { functions: reply.functions }),
    ...(action === 'limit-set' && limit && { limit: numbersOf(limit) }),
    ...(error !== undefined && { error: toldOf(error) }),
  };
}

/** What a request names, before it is known whether its user may see that. */
export function nameIn({ i, fn }: { readonly i?: unknown; readonly fn?: unknown }): {
  i: string;
  fn: string;
} {
  return { i: textOf(i), fn: textOf(fn) };
}

/** Whether it was refused before it was known who asks. */
export function isWithoutUser({ code }: ApiFailure): boolean {
  return WITHOUT_USER.has(code);
}

/** The event of a request that was refused on its way: a look at something hidden, or any change. Undefined for others. */
export function refusalEvent(request: object, error: unknown): AuditEvent | undefined {
  if (!(error instanceof ApiFailure) || told.has(error)) return undefined;
  const { query = {}, body } = request as { query?: Record<string, unknown>; body?: unknown };
  const isLook = isRead(rawRequest(request));
  if (!REFUSALS.has(error.code) && (isLook || !(isWithoutUser(error) || UNREAD.has(error.code))))
    return undefined;
  const asked = isLook ? query : ((body ?? {}) as Record<string, unknown>);
  const { i: instance, fn } = nameIn(asked);
  const target = textOf(asked['id'] ?? asked['topics'] ?? asked['key']);
  const action = isLook ? 'view' : (ACTIONS.find((one) => one === asked['action']) ?? 'other');
  return {
    ...{ user: nameOf(request), action, instance, fn, at: new Date(), error: answerTo(error)[1] },
    ...(target !== '' && { target }),
  };
}

function nameOf(request: object): string {
  try {
    return userOf(request).name;
  } catch {
    return '';
  }
}

function textOf(given: unknown): string {
  return typeof given === 'string' ? given.slice(0, MOST_TEXT) : '';
}

/** The parts that this package knows: a request may have had anything beside them. */
function numbersOf({ concurrency, rate }: NonNullable<ActRequest['limit']>): ActRequest['limit'] {
  const { max, per } = rate ?? {};
  const isRate = isPlain(max) && isPlain(per);
  return {
    ...(isPlain(concurrency) && { concurrency }),
    ...(isRate && { rate: { max, per } }),
  };
}

/** Numbers and spans of time: what else a request brings is no part of an event. */
function isPlain<T>(value: T): value is Extract<T, number | string> {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= MOST_SPAN);
}
