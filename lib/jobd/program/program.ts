import { isReadableByAll } from '../config/config-file.js';
import type { ServerConfig, LogConfig } from '../config/server-config.js';
import type { JobdLog } from '../vocabulary/log.js';
import { createLog, type LogLevel, type LogSink } from '../vocabulary/logging.js';
import { HttpMonitor } from '../monitor/http-monitor.js';
import type { Monitored } from '../monitor/measure.js';
import { closeSync, openSync, writeSync } from 'node:fs';
import { messageOf } from '../../job/errors.js';
import { ConfigError } from '../vocabulary/errors.js';

/** A running daemon or master. */
export interface Program {
  /** The port it listens on. */
  readonly port: number;
  /** Shuts down in order; a second call stops at once. */
  stop(): Promise<void>;
}

/** The log that the configuration at `path` asks for. @throws ConfigError if its file can't be written */
export function openLog(
  name: string,
  config: ServerConfig & { readonly unknown: readonly string[] },
  path: string,
): JobdLog {
  const log = createLog(name, openSinks(config.log));
  for (const option of config.unknown) log.warn(`the option '${option}' is unknown, and ignored`);
  if (config.auth.password !== undefined && isReadableByAll(path))
    log.warn(`${path} contains a password, and all users can read it. Run: chmod o= ${path}`);
  return log;
}

/** Serves metrics and health if the configuration asks for them. */
export async function startMonitor(
  { http }: ServerConfig,
  monitored: Monitored,
  log: JobdLog,
): Promise<HttpMonitor | undefined> {
  if (!http) return undefined;
  const monitor = new HttpMonitor(monitored, log);
  await monitor.start(http.host, http.port);
  return monitor;
}

/** Writes to stdout and to a file, which stays open as long as the program runs. @throws ConfigError if the file can't be written */
function openSinks({ file, fileLevel, consoleLevel }: LogConfig): LogSink[] {
  const console: LogSink = { level: consoleLevel, write: (line) => process.stdout.write(line) };
  return file ? [console, fileSink(file, fileLevel)] : [console];
}

function openFile(path: string): number {
  try {
    return openSync(path, 'a', 0o640);
  } catch (error) {
    throw new ConfigError(`'log_file' can't be written: ${messageOf(error)}`);
  }
}

/**
 * Each line is written at once, so that the last lines before a crash are in the file. A full disk does not end the daemon. On
 * SIGHUP the file is reopened, since it may have been rotated.
 */
function fileSink(path: string, level: LogLevel): LogSink {
  let descriptor = openFile(path);
  let failed = false;
  const attempt = (action: () => void) => {
    try {
      action();
      failed = false;
    } catch (error) {
      if (!failed) process.stderr.write(`The log file can't be written: ${messageOf(error)}\n`);
      failed = true;
    }
  };
  process.on('SIGHUP', () =>
    attempt(() => {
      const old = descriptor;
      descriptor = openFile(path);
      closeSync(old);
    }),
  );
  return { level, write: (line) => attempt(() => writeSync(descriptor, line)) };
}
