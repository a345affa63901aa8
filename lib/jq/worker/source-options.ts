import { checkServerTls, type ServerTls } from '../../net/tls.js';
import { checkWhole } from '../../job/check-whole.js';
import { millisecondsOr, type Duration } from '../../job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { MasterAddress } from '../http/master-http.js';

/** Where a worker listens for pushes. */
export interface ListenOptions {
  /** 0 for any free port. */
  port: number;
  /** @default '127.0.0.1' */
  host?: string;
  /** The base URL for the master, if it is not `http://HOST:PORT`. */
  url?: string;
  /** Serves HTTPS. */
  tls?: ServerTls;
}

/** Options of `jq`. */
export interface JqSourceOptions extends MasterAddress {
  /** Where to listen for pushes. Without it the worker pulls. */
  listen?: ListenOptions;
  /** How many jobs all handlers together may run. @default the sum of their `concurrency` */
  maxJobs?: number;
  /** The worker's name in lists, to which the function's name is added. @default host name and process id */
  name?: string;
  /** The secret shared with the master: pushes without its signature are refused. Several are allowed. */
  secret?: string | readonly string[];
  /** How far a signed push's time may be from ours, either way. @default '60s' */
  signatureWindow?: Duration;
  /** How often the worker pings: more often than the master's `silence`. @default '15s' */
  pingInterval?: Duration;
  /** The longest body of a push, in bytes. @default 8 MiB */
  maxBodyBytes?: number;
  /** Called with messages for operators. @default Nest's logger */
  onProblem?: (message: string) => void;
}

/** The options with their defaults, checked. */
export interface SourceSettings {
  readonly maxJobs: number;
  readonly secrets: readonly string[];
  /** Milliseconds. */
  readonly signatureWindow: number;
  /** Milliseconds. */
  readonly pingInterval: number;
  readonly maxBodyBytes: number;
}

const KNOWN = optionNames<JqSourceOptions>({
  master: true,
  token: true,
  ca: true,
  listen: true,
  maxJobs: true,
  name: true,
  secret: true,
  signatureWindow: true,
  pingInterval: true,
  maxBodyBytes: true,
  onProblem: true,
});
const LISTEN = optionNames<ListenOptions>({ port: true, host: true, url: true, tls: true });

const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024;
const HIGHEST_PORT = 65_535;
const EVERYWHERE = new Set(['0.0.0.0', '::', '']);

/** @throws InvalidOptionError, ConfigurationError */
export function sourceSettings(options: JqSourceOptions): SourceSettings {
  const {
    maxJobs = Infinity,
    maxBodyBytes = DEFAULT_MAX_BODY_BYTES,
    secret = [],
  } = checkOptions('jq', options, KNOWN);
  if (maxJobs !== Infinity) checkWhole('maxJobs', maxJobs, 1);
  checkWhole('maxBodyBytes', maxBodyBytes, 1);
  const secrets = [secret].flat();
  if (secrets.some((each) => typeof each !== 'string' || each === '')) {
    throw new ConfigurationError('A `secret` is empty. Give it the text that the master signs pushes with.');
  }
  if (options.listen) checkListen(options.listen);
  return {
    maxJobs,
    maxBodyBytes,
    secrets,
    signatureWindow: millisecondsOr('60s', 'signatureWindow', options.signatureWindow),
    pingInterval: millisecondsOr('15s', 'pingInterval', options.pingInterval),
  };
}

function checkListen(listen: ListenOptions): void {
  const { port, host, url, tls } = checkOptions('listen', listen, LISTEN);
  if (tls) checkServerTls('listen.tls', tls);
  checkWhole('listen.port', port, 0, HIGHEST_PORT);
  if (url === undefined && host !== undefined && EVERYWHERE.has(host)) {
    throw new ConfigurationError(
      `\`listen.host\` ${JSON.stringify(host)} is no address that the master could push to. Give \`listen.url\` too.`,
    );
  }
  if (url !== undefined && !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')) {
    throw new InvalidOptionError('listen.url', url, 'a URL like http://host:port');
  }
}
