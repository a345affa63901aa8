import { existsSync } from 'node:fs';
import type { LogLevel } from '../vocabulary/logging.js';
import type { ClientTls } from '../../net/tls.js';
import { parseIni } from './ini.js';
import { readConfigFile, readNamedFile } from './config-file.js';
import { OptionReader } from './option-reader.js';

/** jobctl's configuration file; the command line overrides it. */
export interface JobctlConfig {
  readonly master: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly password?: string;
  readonly tls?: ClientTls;
  /** @default warn */
  readonly logLevel: LogLevel;
}

/** @param isOptional whether the file may be missing @throws ConfigError */
export function readJobctlConfig(path: string, isOptional: boolean): JobctlConfig {
  const file = isOptional && !existsSync(path) ? parseIni('') : readConfigFile(path);
  const options = new OptionReader(file.top);
  return {
    master: options.boolean('master'),
    host: options.string('host'),
    port: options.port('port'),
    password: options.string('password'),
    tls: readClientTls(options, ''),
    logLevel: options.level('log_level') ?? 'warn',
  };
}

/** From `tls` and `tls_ca`, with a prefix to their names. @throws ConfigError */
export function readClientTls(options: OptionReader, prefix: string): ClientTls | undefined {
  const ca = options.string(`${prefix}tls_ca`);
  return options.boolean(`${prefix}tls`) || ca !== undefined ? clientTls(ca) : undefined;
}

/** `ca` is a file. @throws ConfigError */
export function clientTls(ca: string | undefined): ClientTls {
  return ca === undefined ? {} : { ca: readNamedFile(ca) };
}
