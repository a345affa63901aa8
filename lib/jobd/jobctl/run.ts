import type { JobctlConfig } from '../config/jobctl-config.js';
import { createLog } from '../vocabulary/logging.js';
import { connect } from '../protocol/connect.js';
import { Heartbeat } from '../protocol/heartbeat.js';
import type { Command } from './commands.js';
import type { Report } from './reports.js';
import { UsageError } from './usage-error.js';

const PING_MS = 30_000;
const DEFAULT_HOST = 'localhost';
const DEFAULT_PORT = { worker: 7080, master: 7081 } as const;

/** Connects, asks and leaves. @throws RequestError, PeerLostError, UsageError */
export async function runCommand(
  command: Command,
  args: readonly string[],
  config: JobctlConfig,
): Promise<Report> {
  const kind = config.master ? 'master' : 'worker';
  const run = command[kind];
  const [name] = command.usage.split(' ');
  if (!run) {
    throw new UsageError(
      `'${name}' is not for a ${kind}: call jobctl ${config.master ? 'without' : 'with'} --master`,
    );
  }
  const sink = { level: config.logLevel, write: (line: string) => process.stderr.write(line) };
  const connection = await connect({
    host: config.host ?? DEFAULT_HOST,
    port: config.port ?? DEFAULT_PORT[kind],
    password: config.password,
    tls: config.tls,
    log: createLog('jobctl', [sink]),
  });
  // Without this, a server that disappeared without closing would be awaited forever.
  new Heartbeat(connection, PING_MS);
  try {
    return await run((type, data) => connection.request(type, data), args);
  } finally {
    connection.end();
  }
}

/** Targets or `--all`, one of them. @throws UsageError */
export function checkTargets(names: readonly string[], all: boolean): void {
  if (all && names.length > 0) throw new UsageError('name targets or say --all, not both');
  if (!all && names.length === 0) {
    throw new UsageError("missing argument 'targets': name one or more, or say --all");
  }
}
