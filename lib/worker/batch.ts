import { checkWhole } from '../job/check-whole.js';
import { MAX_TIMER_MS, millisecondsOr, type Duration } from '../job/duration.js';
import { GearMonkeyError } from '../job/gearmonkey-error.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { SnoozeError } from '../job/retry.js';
import { showAs } from '../job/show-as.js';

/** How jobs are collected for a handler that runs many at once. */
export interface BatchOptions {
  /** Most jobs of a batch, from 1 to 1,000. */
  size: number;
  /** How long a batch that is not full waits for more jobs, at most 60 s. @default 0: it takes what has come by then */
  wait?: Duration;
}

/** `BatchOptions`, checked. */
export interface BatchLimits {
  readonly size: number;
  /** Milliseconds. */
  readonly wait: number;
}

const MAX_SIZE = 1000;
const MAX_WAIT_MS = 60_000;
const KNOWN = optionNames<Required<BatchOptions>>({ size: true, wait: true });

/** @throws ConfigurationError, InvalidOptionError */
export function checkBatch(options: BatchOptions): BatchLimits {
  const { size, wait } = checkOptions('batch', options, KNOWN);
  checkWhole('batch.size', size, 1, MAX_SIZE);
  const bounds = { least: 0, most: Math.min(MAX_WAIT_MS, MAX_TIMER_MS) };
  return { size, wait: millisecondsOr(0, 'batch.wait', wait, bounds) };
}

/** How one job of a batch ended: made by `ok`, `fail` and `later`. */
export class BatchOutcome<Output = unknown> {
  static {
    showAs(BatchOutcome, () => ({}));
  }

  /** Has no value: for types alone, so that outcomes with outputs of other types are refused. */
  declare protected readonly output: Output;

  /** @internal */
  constructor(
    /** Returns the output, or throws. @internal */
    readonly take: () => Output,
  ) {}
}

/** The job has succeeded with this output. */
export function ok(): BatchOutcome<undefined>;
export function ok<Output>(output: Output): BatchOutcome<Output>;
export function ok(output?: unknown): BatchOutcome {
  return new BatchOutcome(() => output);
}

/** The attempt of this job has failed, as if its handler had thrown `error`: it is tried again by its retry options. */
export function fail(error: unknown): BatchOutcome<never> {
  return new BatchOutcome(() => {
    throw error;
  });
}

/** The job runs again after a delay, without an attempt, as by a SnoozeError. @throws InvalidOptionError */
export function later(delay: Duration): BatchOutcome<never> {
  return fail(new SnoozeError(delay));
}

/** Another job of the batch had to stop, or held its key. This one goes back, as if it had not been claimed. */
export class BatchStoppedError extends GearMonkeyError {
  readonly code = 'BATCH_STOPPED';

  /** @internal */
  constructor(cause: unknown) {
    super('Another job of the batch had to stop. This one goes back without an attempt, and runs again.', {
      cause,
    });
  }
}

/** A batch handler did not return one outcome for each of its jobs: all of them fail with this. */
export class BatchResultError extends GearMonkeyError {
  readonly code = 'BATCH_RESULT';

  constructor(
    readonly fn: string,
    size: number,
    found: string,
  ) {
    super(
      `The batch handler of "${fn}" got ${size} jobs and returned ${found}. Return an array with ok(output), fail(error) or ` +
        'later(delay) for each, in their order.',
    );
  }
}

/** The outcomes of a batch. @throws BatchResultError */
export function outcomesOf(fn: string, size: number, returned: unknown): readonly BatchOutcome[] {
  if (!Array.isArray(returned)) throw new BatchResultError(fn, size, describe(returned));
  const list = returned as readonly unknown[];
  if (list.length !== size) throw new BatchResultError(fn, size, `an array of ${list.length}`);
  const other = list.findIndex((each) => !(each instanceof BatchOutcome));
  if (other >= 0) throw new BatchResultError(fn, size, `an array with ${describe(list[other])} at ${other}`);
  return list as readonly BatchOutcome[];
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? 'another object' : `a ${typeof value}`;
}
