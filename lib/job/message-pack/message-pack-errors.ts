import { GearMonkeyError } from '../errors.js';

/** Bytes that are not exactly one MessagePack or JSON value within the limits. */
export class MalformedMessageError extends GearMonkeyError {
  readonly code = 'MALFORMED_MESSAGE';

  constructor(
    reason: string,
    /** Offset in the bytes. */
    readonly offset?: number,
  ) {
    super(
      `The body is no message: ${reason}${offset === undefined ? '' : ` at byte ${offset}`}. Send one whole value.`,
    );
  }
}
