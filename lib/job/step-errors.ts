import { GearMonkeyError } from './gearmonkey-error.js';
import { signalWords } from './signals.js';

/** Two steps of one run have the same name, so it could not be told which of them is done. */
export class DuplicateStepError extends GearMonkeyError {
  readonly code = 'DUPLICATE_STEP';

  constructor(
    readonly fn: string,
    readonly step: string,
  ) {
    super(
      `The handler of "${fn}" has two steps "${step}". Give each a name of its own, in a loop with its number.`,
    );
  }
}

/** The handler's steps are not those that an earlier run of this job recorded, as after a deploy that changed them. */
export class StepsChangedError extends GearMonkeyError {
  readonly code = 'STEPS_CHANGED';

  constructor(
    readonly fn: string,
    readonly id: string,
    found: string,
  ) {
    super(
      `Job ${id} of "${fn}" began with other steps: ${found}. Keep the steps of jobs that have begun, or give the definition ` +
        'another `steps.version`, which begins them anew.',
    );
  }
}

/** The output of a step is larger than the limit. It was not recorded. */
export class StepTooLargeError extends GearMonkeyError {
  readonly code = 'STEP_TOO_LARGE';

  constructor(
    readonly fn: string,
    readonly step: string,
    readonly bytes: number,
    readonly limit: number,
  ) {
    super(
      `The output of the step "${step}" of "${fn}" has ${bytes} bytes, more than the limit of ${limit}. ` +
        'Store it elsewhere and return a reference, or raise `maxStepBytes`.',
    );
  }
}

/** None of the signals that a job waited for came in time. The job fails with it, unless its handler catches it. */
export class SignalTimeoutError extends GearMonkeyError {
  readonly code = 'SIGNAL_TIMEOUT';

  constructor(
    readonly fn: string,
    readonly id: string,
    readonly signals: readonly string[],
  ) {
    const none = signals.length === 1 ? 'which' : 'none of which';
    const came = signals.length === 1 ? 'did not come' : 'came';
    super(`Job ${id} of "${fn}" waited for ${signalWords(signals)}, ${none} ${came} in time.`);
  }
}
