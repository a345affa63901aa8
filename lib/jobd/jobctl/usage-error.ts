import { GearMonkeyError } from '../../job/errors.js';

/** jobctl has wrong arguments. Nothing was sent. */
export class UsageError extends GearMonkeyError {
  readonly code = 'USAGE';
}
