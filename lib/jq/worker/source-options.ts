import { checkServerTls, type ServerTls } from '../../net/tls.js';
import { checkWhole } from '../../job/check-whole.js';
import { millisecondsOr, type Duration } from '../../job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../../job/errors.js';
import type { MasterAddress } from '../http/master-http.js';

/** Where a worker listens for pushes. */
export interface ListenOptions {
  /** 0 takes a free one. */
  port: number;
  /** @default '127.0.0.1' */
  host?: string;
  /** How the master reaches it, where that is not `http://HOST:PORT`: a base, below which it posts. */
  url?: string;
  /** Serves HTTPS. */
  tls?: ServerTls;
}

/** What `jq` takes. */
export interface JqSourceOptions extends MasterAddress {
  /** Where jobs are pushed to. Without it nothing is bound, and the worker pulls. */
  listen?: ListenOptions;
  /** How many jobs all handlers together may run. @default what their `concurrency` adds up to */
  maxJobs?: number;
  /** What the worker is called in lists; a function's name is added. @default the host's name and the process id */
  name?: string;
  /** Shared with the master: pushes without its signature are refused. With several, any is good. */
  secret?: string | readonly string[];
  /** How old a signed push may be, and how far into the future. @default '60s' */
  signatureWindow?: Duration;
  /** How often the worker says that it is there: less than the master's `silence`. @default '15s' */
  pingInterval?: Duration;
  /** The longest body of a push, in bytes. @default 8 MiB */
  maxBodyBytes?: number;
  /** Told what an operator should know. @default Nest's logger */
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

const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024;
const HIGHEST_PORT = 65_535;
const EVERYWHERE = new Set(['0.0.0.0', '::', '']);

/** @throws InvalidOptionError, ConfigurationError */
export function sourceSettings(options: JqSourceOptions): SourceSettings {
  const { maxJobs = Infinity, maxBodyBytes = DEFAULT_MAX_BODY_BYTES, secret = [] } = options;
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

function checkListen({ port, host, url, tls }: ListenOptions): void {
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
