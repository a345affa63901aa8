import { describe } from '../../job/error-info.js';
import { GearMonkeyError } from '../../job/errors.js';

/** A field of a body that is missing, of the wrong type or out of its range. Nothing was written. */
export class InvalidFieldError extends GearMonkeyError {
  readonly code = 'INVALID_FIELD';

  constructor(
    readonly field: string,
    readonly expected: string,
  ) {
    super(`Expected \`${field}\` to be ${expected}.`);
  }
}

/** A header or query parameter that is missing or out of its range. */
export class InvalidParameterError extends GearMonkeyError {
  readonly code = 'INVALID_PARAMETER';

  constructor(
    readonly parameter: string,
    value: unknown,
    readonly expected: string,
  ) {
    super(`Expected ${parameter} to be ${expected}, got ${describe(value)}.`);
  }
}
