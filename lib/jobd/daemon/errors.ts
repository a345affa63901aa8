import { GearMonkeyError } from '../../job/errors.js';

/** What a client asked for can't be done. The message is the protocol's own. */
export class RefusedRequestError extends GearMonkeyError {
  readonly code = 'JOBD_REFUSED_REQUEST';
}
