import { GearMonkeyError } from '../../job/errors.js';
import { ConnectionError, RefusedError } from '../../job/server-errors.js';
import { isReply } from '../../redis/redis-errors.js';
import { isOutage } from '../../redis/retry.js';

/** A refusal of the core of qless. Nothing was written. */
export abstract class QlessError extends GearMonkeyError {
  constructor(
    /** The command by the core's name: Put, Complete … */
    readonly command: string,
    /** The core's message. */
    readonly reason: string,
    remedy: string,
  ) {
    super(`qless refused ${command}: ${reason}. ${remedy}`);
  }
}

/** There is no such job or recurring job: it was never put, was cancelled, or was deleted some time after it was complete. */
export class QlessJobNotFoundError extends QlessError {
  readonly code = 'QLESS_JOB_NOT_FOUND';
}

/** The job was given to another worker, because its lock had expired, or the job was taken from this worker. */
export class QlessJobLostError extends QlessError {
  readonly code = 'QLESS_JOB_LOST';
}

/** The job's state or queue doesn't allow this. */
export class QlessStateError extends QlessError {
  readonly code = 'QLESS_STATE';
}

/** Other jobs depend on the job, which can only be cancelled together with them. */
export class QlessDependencyError extends QlessError {
  readonly code = 'QLESS_DEPENDENCY';
}

/** An argument has the wrong type or is out of range. */
export class QlessArgumentError extends QlessError {
  readonly code = 'QLESS_ARGUMENT';
}

type Refusal = new (command: string, reason: string, remedy: string) => QlessError;

/** By the code that our own form of the scripts puts before its text; without one it is an argument. */
const KINDS: Readonly<Record<string, readonly [kind: Refusal, remedy: string]>> = {
  QLESS_JOB_NOT_FOUND: [QlessJobNotFoundError, 'Read it with jobs.get() or recurring.get() first.'],
  QLESS_JOB_LOST: [QlessJobLostError, 'Stop working on it; send heartbeats more often than its lock lasts.'],
  QLESS_STATE: [QlessStateError, 'Read it again.'],
  QLESS_DEPENDENCY: [QlessDependencyError, 'Cancel both in one call.'],
  QLESS_ARGUMENT: [QlessArgumentError, 'Check the arguments.'],
};

/** Redis adds where the error was raised, before or after the script's text. */
const PLACE = /^(?:ERR )?(?:Error running script.*?: )?(?:@?user_script:\d+: )+/;
const TAIL = / script: [0-9a-f]{40}, on @user_script:\d+\.$/;

/** Converts an error of Redis or ioredis to one of this package. Other errors, such as a TypeError, are returned unchanged. */
export function toQlessError(what: string, error: unknown): Error {
  if (error instanceof GearMonkeyError) return error;
  if (!(error instanceof Error) || isOutage(error)) return new ConnectionError(what, error);
  if (!isReply(error)) return error;
  const text = error.message.replace(PLACE, '').replace(TAIL, '');
  return toRefusal(text, what) ?? new RefusedError(what, error);
}

/** A script's reply: 'QLESS_STATE Complete(): why', or without a code. Undefined if it is no refusal. */
export function toRefusal(text: string, what = ''): QlessError | undefined {
  const [, code, command, reason = ''] = /^(?:(QLESS_\w+) )?(?:(\w+)\(\): )?(.*)$/s.exec(text) ?? [];
  if (code === undefined && command === undefined) return undefined;
  const [Kind, remedy] = KINDS[code ?? ''] ?? [QlessArgumentError, 'Check the arguments.'];
  return new Kind(command ?? what, reason, remedy);
}
