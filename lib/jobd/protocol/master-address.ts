import { millisecondsOr, type Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { checkClientTls, type ClientTls } from '../../net/tls.js';

/** The address of a worker's master. */
export interface MasterAddress {
  readonly host: string;
  readonly port: number;
  /** The master's password. @default the worker's own */
  readonly password?: string;
  readonly tls?: ClientTls;
  /** How long after a failure the worker connects again. @default '10s' */
  readonly reconnectTimeout?: Duration;
  /** How often the master is pinged. If it doesn't reply, the worker connects again. @default '30s' */
  readonly pingInterval?: Duration;
}

/** The same, times in milliseconds. */
export interface CheckedMasterAddress extends MasterAddress {
  readonly reconnectTimeout: number;
  readonly pingInterval: number;
}

const KNOWN = optionNames<MasterAddress>({
  host: true,
  port: true,
  password: true,
  tls: true,
  reconnectTimeout: true,
  pingInterval: true,
});

/** Checks the options and adds defaults. @throws ConfigurationError, InvalidOptionError */
export function checkMasterAddress(master: MasterAddress): CheckedMasterAddress {
  const { reconnectTimeout, pingInterval, tls } = checkOptions('master', master, KNOWN);
  if (tls) checkClientTls('master.tls', tls);
  return {
    ...master,
    reconnectTimeout: millisecondsOr('10s', 'master.reconnectTimeout', reconnectTimeout, { least: 0 }),
    pingInterval: millisecondsOr('30s', 'master.pingInterval', pingInterval),
  };
}
