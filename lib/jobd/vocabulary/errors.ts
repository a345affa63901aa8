import { GearMonkeyError } from '../../job/errors.js';

/** A request that was refused, here or by the peer. The message is the protocol's `error`, as on the wire. */
export class RequestError extends GearMonkeyError {
  readonly code = 'REQUEST_REFUSED';
}

/** The peer has disconnected or can't be reached. The request may or may not have been served. */
export class PeerLostError extends GearMonkeyError {
  readonly code = 'PEER_LOST';
}

/** A mistake in a configuration file. The message never repeats a value, which may be a secret. */
export class ConfigError extends GearMonkeyError {
  readonly code = 'CONFIG';
}
