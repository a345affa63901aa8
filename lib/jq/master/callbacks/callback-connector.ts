import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { clientTlsOptions, type ClientTls } from '../../../net/tls.js';
import { defined } from '../../../job/defined.js';
import { GearMonkeyError } from '../../../job/errors.js';
import type { CallbackAllowlist } from './callback-allowlist.js';

/** The allowlist does not admit the address of a worker's URL. Nothing was sent. */
export class CallbackRefusedError extends GearMonkeyError {
  readonly code = 'CALLBACK_NOT_ALLOWED';

  constructor(readonly host: string) {
    super(`Callbacks to "${host}" are not allowed. List its name, and its address if that is private.`);
  }
}

/** Options of connections to workers. */
export interface ConnectorOptions extends ClientTls {
  /** Milliseconds. */
  readonly timeout: number;
  readonly allowlist?: CallbackAllowlist | undefined;
}

/** Connects only to admitted addresses: the address that is checked is the one that is used. */
export function callbackConnector({
  allowlist,
  timeout,
  ...tls
}: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector(
    defined({ timeout, ...clientTlsOptions(tls), lookup: allowlist && lookupWithin(allowlist) }),
  );
  if (!allowlist) return connect;
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) > 0 && !allowlist.admits(host, host)) callback(new CallbackRefusedError(host), null);
    else connect(target, callback);
  };
}

/** Leaves out the addresses that are not admitted. */
export function lookupWithin(allowlist: CallbackAllowlist): LookupFunction {
  return (host, options: LookupOptions, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, []);
      const admitted = addresses.filter(({ address }) => allowlist.admits(host, address));
      const [first] = admitted;
      if (!first) return callback(new CallbackRefusedError(host), []);
      return options.all ? callback(null, admitted) : callback(null, first.address, first.family);
    });
  };
}
