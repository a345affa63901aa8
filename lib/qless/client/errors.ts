import { GearMonkeyError } from '../../job/errors.js';
import { ConnectionError, RefusedError } from '../../job/server-errors.js';
import { isReply } from '../../redis/redis-errors.js';
import { isOutage } from '../../redis/retry.js';

/** What the core of qless refused. Nothing was written. */
export abstract class QlessError extends GearMonkeyError {
  constructor(
    /** As the core names it: Put, Complete … */
    readonly command: string,
    /** In the core's words. */
    readonly reason: string,
    remedy: string,
  ) {
    super(`qless refused ${command}: ${reason}. ${remedy}`);
  }
}

/** There is no such job or recurring job: it never was, was cancelled, or has been deleted since it was complete. */
export class QlessJobNotFoundError extends QlessError {
  readonly code = 'QLESS_JOB_NOT_FOUND';
}

/** The job was given to another worker, because its lock had expired or somebody took it. */
export class QlessJobLostError extends QlessError {
  readonly code = 'QLESS_JOB_LOST';
}

/** The job is in a state, or a queue, in which that can't be done. */
export class QlessStateError extends QlessError {
  readonly code = 'QLESS_STATE';
}

/** A job that others depend on can only be cancelled together with them. */
export class QlessDependencyError extends QlessError {
  readonly code = 'QLESS_DEPENDENCY';
}

/** An argument of the wrong type or out of its range. */
export class QlessArgumentError extends QlessError {
  readonly code = 'QLESS_ARGUMENT';
}

type Refusal = new (command: string, reason: string, remedy: string) => QlessError;

/** By what the core says; the first that fits. */
const KINDS: readonly (readonly [reason: RegExp, kind: Refusal, remedy: string])[] = [
  [
    /does not exist|^No recurring job/,
    QlessJobNotFoundError,
    'Read it with jobs.get() or recurring.get() first.',
  ],
  [
    /another worker/,
    QlessJobLostError,
    'Stop working on it; send heartbeats more often than its lock lasts.',
  ],
  [
    /not currently running|not running|in another queue|not in the depends state/,
    QlessStateError,
    'Read it again.',
  ],
  [/is a dependency of/, QlessDependencyError, 'Cancel both in one call.'],
];

/** Where the error was raised, before and after what the script says. */
const PLACE = /^(?:ERR )?(?:Error running script.*?: )?(?:@?user_script:\d+: )+/;
const TAIL = / script: [0-9a-f]{40}, on @user_script:\d+\.$/;

/** An error of Redis or of ioredis as one of ours; one of the program, as a TypeError, stays what it is. */
export function toQlessError(what: string, error: unknown): Error {
  if (error instanceof GearMonkeyError) return error;
  if (!(error instanceof Error) || isOutage(error)) return new ConnectionError(what, error);
  if (!isReply(error)) return error;
  const text = error.message.replace(PLACE, '').replace(TAIL, '');
  const odd = text.startsWith('Odd number of additional args');
  if (odd) return new QlessArgumentError(what, text, 'Look at what was passed.');
  return toRefusal(text) ?? new RefusedError(what, error);
}

/** What the core says; undefined where nobody knows what that means. */
export function toRefusal(text: string): QlessError | undefined {
  const [, command, reason] = /^(\w+)\(\): (.*)$/s.exec(text) ?? [];
  if (command === undefined || reason === undefined) return undefined;
  const [, Kind = QlessArgumentError, remedy = 'Look at what was passed.'] =
    KINDS.find(([words]) => words.test(reason)) ?? [];
  return new Kind(command, reason, remedy);
}
