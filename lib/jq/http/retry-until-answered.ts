import { retry } from '../../batching/retry.js';
import { backoffDelay } from './backoff.js';
import { JqRefusedError, JqUnreachableError } from './master-errors.js';
import { isTemporary, refused, type MasterReply } from './master-http.js';

/** However long a reply asks to wait: pings, reports and registrations have little more time before others get the jobs. */
const LONGEST_REST_MS = 2000;

/** The part of a master's reply that decides about a retry. */
interface Reply {
  readonly status: number;
  /** Milliseconds that it asks to wait; 0 if it doesn't. */
  readonly rest: number;
}

export interface AskOptions<T> {
  /** Ends it when it aborts. */
  readonly signal: AbortSignal;
  /** Why a reply is not an answer yet; undefined if it is one. */
  readonly unanswered: (reply: T) => Error | undefined;
  /** Called for each failure, with the reason. */
  readonly onFailure?: (error: unknown) => void;
  /** What is thrown when the signal aborts. @default its reason */
  readonly late?: (lastError: unknown) => unknown;
}

/** The reply was "later". */
class NoAnswerYet extends Error {
  constructor(
    override readonly cause: Error,
    readonly rest: number,
  ) {
    super(cause.message);
  }
}

/** Retries through outages and "later" until the master gives a final answer: only for what may be sent twice. */
export function retryUntilAnswered<T extends Reply>(
  request: () => Promise<T>,
  { signal, unanswered, onFailure, late = () => signal.reason }: AskOptions<T>,
): Promise<T> {
  const attempt = async () => {
    const reply = await request();
    const reason = unanswered(reply);
    if (reason) throw new NoAnswerYet(reason, reply.rest);
    return reply;
  };
  return retry(attempt, {
    signal,
    pause: (error, failures) => Math.max(restAfter(error), backoffDelay(failures)),
    onFailure: (error) => onFailure?.(reasonFor(error)),
    late: (error) => late(reasonFor(error)),
  });
}

/**
 * The master's answer to a call.
 *
 * @param what method and path, for the message
 * @throws JqUnreachableError when the signal aborts first, or JqRefusedError when all it said was "later"
 */
export function askMaster(
  request: () => Promise<MasterReply>,
  signal: AbortSignal,
  { url, what }: { readonly url: string; readonly what: string },
): Promise<MasterReply> {
  return retryUntilAnswered(request, {
    signal,
    unanswered: (reply) => (isTemporary(reply) ? refused(what, reply) : undefined),
    late: (error) => (error instanceof JqRefusedError ? error : new JqUnreachableError(url, what, error)),
  });
}

function restAfter(error: unknown): number {
  return error instanceof NoAnswerYet ? Math.min(error.rest, LONGEST_REST_MS) : 0;
}

function reasonFor(error: unknown): unknown {
  return error instanceof NoAnswerYet ? error.cause : error;
}
