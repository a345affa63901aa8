import { hostname } from 'node:os';
import { defined } from '../../job/defined.js';
import { messageOf } from '../../job/errors.js';
import { MAX_FETCH_LIMIT, type DaemonOptions } from '../daemon/daemon-options.js';
import type { TargetOptions } from '../rows/targets.js';
import { ConfigError } from '../vocabulary/errors.js';
import { parseDatabaseUrl, type DatabaseLocation } from '../storage/database-location.js';
import type { MasterAddress } from '../protocol/master-address.js';
import { readConfigFile } from './config-file.js';
import type { IniFile, IniSection } from './ini.js';
import { readClientTls } from './jobctl-config.js';
import { OptionReader, unknownSections } from './option-reader.js';
import { readServerConfig, type ServerConfig } from './server-config.js';
import { MAX_TARGET_LENGTH } from '../protocol/target-lists.js';

export interface DaemonConfig extends ServerConfig {
  readonly name: string;
  readonly master?: MasterAddress;
  readonly daemon: DaemonOptions;
  /** Unknown options. */
  readonly unknown: readonly string[];
}

/** Ignored when `database` is set. */
const MYSQL_OPTIONS = [
  ...['host', 'port', 'user', 'password', 'database'],
  ...['tls', 'tls_ca', 'table', 'fetch_limit'],
].map((name) => `mysql_${name}`);

const SECTIONS = ['targets', 'timeouts'];

/** The longest time in seconds: Node's timers take no more. */
const MAX_SECONDS = 2_000_000;

/** Reads jobd's configuration. @throws ConfigError */
export function readDaemonConfig(path: string): DaemonConfig {
  const file = readConfigFile(path);
  const options = new OptionReader(file.top);
  const name = options.string('name') || hostname();
  return {
    ...readServerConfig(options),
    name,
    master: readMaster(options),
    daemon: { ...readDaemon(options, file), name },
    unknown: [...options.unknown(), ...unknownTimeouts(file), ...unknownSections(file, SECTIONS)],
  };
}

/** Timeouts of targets that are not served from the start. */
function unknownTimeouts({ sections }: IniFile): string[] {
  const served = sections.get('targets');
  return [...(sections.get('timeouts')?.keys() ?? [])]
    .filter((target) => !served?.has(target))
    .map((target) => `${target} in [timeouts]`);
}

function readDaemon(options: OptionReader, file: IniFile): DaemonOptions {
  return {
    database: readDatabase(options),
    table: options.string('table') ?? options.string('mysql_table'),
    fetchLimit: fetchLimit(options, 'fetch_limit') ?? fetchLimit(options, 'mysql_fetch_limit'),
    launcher: options.requiredString('launcher'),
    cwd: options.string('launcher.cwd'),
    env: options.beginningWith('launcher.env.'),
    maxOutputBuffer: options.integer('max_output_buffer'),
    posixSpawn: options.oneOf('posix_spawn', ['auto', 'false']) === 'false' ? false : undefined,
    targets: readTargets(options, file),
    pollInterval: options.milliseconds('poll_interval', [0.1, MAX_SECONDS]),
    orphans: options.oneOf('orphans', ['requeue', 'fail']),
    lease: options.milliseconds('lease', [1, MAX_SECONDS]),
    drainTimeout: options.milliseconds('drain_timeout', [0, MAX_SECONDS]),
  };
}

function fetchLimit(options: OptionReader, name: string): number | undefined {
  return options.integer(name, [0, MAX_FETCH_LIMIT]);
}

/** Undefined without a host and a port. */
function readMaster(options: OptionReader): MasterAddress | undefined {
  const [host, port] = [options.string('master_host'), options.port('master_port')];
  const more = {
    password: options.secret('master_password') ?? options.secret('password'),
    tls: readClientTls(options, 'master_'),
    reconnectTimeout: options.milliseconds('master_reconnect_timeout', [0, 86_400]),
    pingInterval: options.milliseconds('ping_interval', [1, 86_400]),
  };
  return host && port ? { host, port, ...more } : undefined;
}

function readDatabase(options: OptionReader): DatabaseLocation {
  options.accept(...MYSQL_OPTIONS);
  const url = options.string('database');
  if (url !== undefined) return locationOf(url);
  const dialect = 'mysql';
  return {
    dialect,
    host: options.requiredString('mysql_host'),
    port: options.port('mysql_port') ?? 3306,
    user: options.requiredString('mysql_user'),
    password: options.string('mysql_password') ?? '',
    database: options.requiredString('mysql_database'),
    tls: options.boolean('mysql_tls'),
    tlsCa: options.string('mysql_tls_ca'),
  };
}

function locationOf(url: string): DatabaseLocation {
  try {
    return parseDatabaseUrl(url);
  } catch (error) {
    throw new ConfigError(messageOf(error), { cause: error });
  }
}

/** Concurrency from [targets], what a job may take from [timeouts] or `job_timeout`, retries from `retry_*`. */
function readTargets(options: OptionReader, { sections }: IniFile): ReadonlyMap<string, TargetOptions> {
  const section = (name: string): IniSection => sections.get(name) ?? new Map();
  const timeouts = new OptionReader(section('timeouts'));
  const timeout = options.milliseconds('job_timeout', [0.001, MAX_SECONDS]);
  const attempts = options.integer('retry_attempts', [1, 1000]);
  const delay = options.milliseconds('retry_delay', [0.001, MAX_SECONDS]);
  const said = defined({ attempts, delay });
  const retry = Object.keys(said).length > 0 ? said : undefined;
  const concurrencies = readTargetSection(section('targets'));
  return new Map(
    [...concurrencies].map(([target, concurrency]) => [
      target,
      { concurrency, timeout: timeouts.milliseconds(target, [0.001, MAX_SECONDS]) ?? timeout, retry },
    ]),
  );
}

/** Concurrency by target. @throws ConfigError */
function readTargetSection(section: IniSection): ReadonlyMap<string, number> {
  return new Map([...section].map(([target, value]) => [checkName(target), toConcurrency(target, value)]));
}

function checkName(target: string): string {
  if (target === 'null')
    throw new ConfigError("word 'null' is reserved, please don't use it as a target name");
  if (target === '' || target.length > MAX_TARGET_LENGTH) {
    throw new ConfigError(`a target's name must have 1 to ${MAX_TARGET_LENGTH} characters`);
  }
  return target;
}

function toConcurrency(target: string, value: unknown): number {
  const concurrency = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN;
  if (Number.isNaN(concurrency)) throw new ConfigError(`value of target '${target}' must be a number`);
  if (!Number.isSafeInteger(concurrency) || concurrency <= 0) {
    throw new ConfigError(`target '${target}' has invalid value: it must be a whole number, 1 or more`);
  }
  return concurrency;
}
