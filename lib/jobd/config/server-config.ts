import { ConfigError } from '../vocabulary/errors.js';
import type { LogLevel } from '../vocabulary/logging.js';
import { authenticator, type AuthOptions } from '../protocol/authentication.js';
import type { ServerTls } from '../../net/tls.js';
import { readNamedFile } from './config-file.js';
import type { OptionReader } from './option-reader.js';

/** Options of both daemon and master. */
export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly auth: AuthOptions;
  readonly tls?: ServerTls;
  readonly log: LogConfig;
  /** Where metrics and health are served. @default nowhere */
  readonly http?: { readonly host: string; readonly port: number };
}

export interface LogConfig {
  readonly file?: string;
  /** @default warn */
  readonly fileLevel: LogLevel;
  /** @default warn */
  readonly consoleLevel: LogLevel;
}

/** @throws ConfigError */
export function readServerConfig(options: OptionReader): ServerConfig {
  return {
    host: options.requiredString('host'),
    port: options.requiredPort('port'),
    auth: readAuth(options),
    tls: readTls(options),
    log: {
      file: options.string('log_file'),
      fileLevel: options.level('log_level_file') ?? 'warn',
      consoleLevel: options.level('log_level_console') ?? 'warn',
    },
    http: readHttp(options),
  };
}

function readAuth(options: OptionReader): AuthOptions {
  const auth = {
    password: options.secret('password'),
    passwordHash: options.secret('password_hash'),
    allowLocalhost: options.boolean('always_allow_localhost'),
    allowNoPassword: options.boolean('allow_no_password'),
  };
  // Refuses a malformed hash now, not at the first request.
  authenticator(auth);
  return auth;
}

function readTls(options: OptionReader): ServerTls | undefined {
  const [cert, key] = [options.string('tls_cert'), options.string('tls_key')];
  if (!cert && !key) return undefined;
  if (!cert || !key) throw new ConfigError("'tls_cert' and 'tls_key' need each other");
  return { cert: readNamedFile(cert), key: readNamedFile(key) };
}

function readHttp(options: OptionReader): ServerConfig['http'] {
  const [host, port] = [options.string('http_host'), options.port('http_port')];
  return port === undefined ? undefined : { host: host ?? '127.0.0.1', port };
}
