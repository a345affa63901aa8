import { GearMonkeyError } from './gearmonkey-error.js';

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

/** The signal that a job waited for did not come in time. The job fails with it, unless its handler catches it. */
export class SignalTimeoutError extends GearMonkeyError {
  readonly code = 'SIGNAL_TIMEOUT';

  constructor(
    readonly fn: string,
    readonly id: string,
    readonly signal: string,
  ) {
    super(`Job ${id} of "${fn}" waited for the signal "${signal}", which did not come in time.`);
  }
}
