import { isReadableByAll } from '../config/config-file.js';
import type { ServerConfig } from '../config/server-config.js';
import type { JobdLog } from '../vocabulary/log.js';
import { openSinks } from './log-sinks.js';
import { createLog } from '../vocabulary/logging.js';
import { HttpMonitor } from '../monitor/http-monitor.js';
import type { Monitored } from '../monitor/measure.js';

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
