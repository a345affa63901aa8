import { GearMonkeyError } from '../../job/errors.js';

/** A request that its receiver refuses, here or at the other end. The message is the protocol's `error`, as it goes over the wire. */
export class RequestError extends GearMonkeyError {
  readonly code = 'REQUEST_REFUSED';
}

/** The peer is gone, or can't be reached: what was asked may or may not have been done. */
export class PeerLostError extends GearMonkeyError {
  readonly code = 'PEER_LOST';
}

/** What a configuration file says is wrong; the message never repeats a value, which may be a secret. */
export class ConfigError extends GearMonkeyError {
  readonly code = 'CONFIG';
}
