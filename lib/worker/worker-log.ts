import { printable } from '../job/printable.js';
import type { Outcome } from '../job/job-source.js';

/** Where a worker reports to its operator. */
export interface WorkerLog {
  warn(message: string): void;
  error(message: string): void;
  /** Recoveries. @default `warn` */
  log?(message: string): void;
}

/** More of a message than this is for `job.errors`. */
const MAX_MESSAGE = 500;

/** The same log, a line each: ids and messages come from outside. */
export function inLines(log: WorkerLog): WorkerLog {
  return {
    warn: (message) => log.warn(printable(message)),
    error: (message) => log.error(printable(message)),
    log: (message) => (log.log ? log.log(printable(message)) : log.warn(printable(message))),
  };
}

/**
 * One line for an attempt that failed: a warning where another follows, else an error. Jobs that were
 * cancelled, given back, or put off by RetryLaterError have not failed.
 */
export function logFailure(log: WorkerLog, outcome: Outcome, attempt: number, attempts: number): void {
  if (outcome.status !== 'error' && outcome.status !== 'retry') return;
  const { claim, error, status } = outcome;
  if (status === 'retry' && error.code === 'RETRY_LATER') return;
  const tried = attemptOf(attempt, attempts, status === 'retry' ? outcome.delay : undefined);
  const line = `${claim.fn} ${claim.id} failed (${tried}): ${error.name}: ${shorten(error.message)}`;
  if (status === 'retry') log.warn(line);
  else log.error(line);
}

function shorten(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
}

/** Without a limit the server counts attempts and decides when the next one is. */
function attemptOf(attempt: number, attempts: number, delay: number | undefined): string {
  if (attempts === Infinity) return `attempt ${attempt}`;
  const next = delay === undefined ? '' : `, next in ${Math.round(delay)} ms`;
  return `attempt ${attempt} of ${attempts}${next}`;
}
