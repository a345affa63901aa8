import { GearMonkeyError } from '../../job/errors.js';

/** jobctl was called in a way that makes no sense. Nothing was sent. */
export class UsageError extends GearMonkeyError {
  readonly code = 'USAGE';
}
