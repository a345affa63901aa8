import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { clientTlsOptions, type ClientTls } from '../../../net/tls.js';
import { defined } from '../../../job/defined.js';
import { GearMonkeyError } from '../../../job/errors.js';
import type { CallbackRule } from './callback-allowlist.js';

/** The address of a worker's URL is not admitted. Nothing was sent. */
export class CallbackRefusedError extends GearMonkeyError {
  readonly code = 'CALLBACK_NOT_ALLOWED';

  constructor(readonly host: string) {
    super(
      `Callbacks to "${host}" are not allowed. List its name in \`callbacks.allow\`, and its address if that is private.`,
    );
  }
}

/** Options of connections to workers. */
export interface ConnectorOptions extends ClientTls {
  /** Milliseconds. */
  readonly timeout: number;
  readonly rule: CallbackRule;
}

/** Connects only to admitted addresses: the address that is checked is the one that is used. */
export function callbackConnector({ rule, timeout, ...tls }: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector(defined({ timeout, ...clientTlsOptions(tls), lookup: lookupWithin(rule) }));
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) > 0 && !rule.admits(host, host)) callback(new CallbackRefusedError(host), null);
    else connect(target, callback);
  };
}

/** Leaves out the addresses that are not admitted. */
export function lookupWithin(rule: CallbackRule): LookupFunction {
  return (host, options: LookupOptions, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, []);
      const admitted = addresses.filter(({ address }) => rule.admits(host, address));
      const [first] = admitted;
      if (!first) return callback(new CallbackRefusedError(host), []);
      return options.all ? callback(null, admitted) : callback(null, first.address, first.family);
    });
  };
}
