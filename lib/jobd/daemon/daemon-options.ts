import { hostname } from 'node:os';
import { checkWhole } from '../../job/check-whole.js';
import { defined } from '../../job/defined.js';
import { millisecondsOr, toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { checkRetry } from '../../job/retry.js';
import type { LauncherOptions } from '../launcher/launcher.js';
import type { CheckedTarget, TargetOptions } from '../rows/targets.js';
import type { JobdLog } from '../vocabulary/log.js';
import { SILENT } from '../vocabulary/logging.js';
import type { OrphanPolicy } from '../storage/daemon-registry.js';
import type { DatabaseLocation } from '../storage/database-location.js';

/** Options of `JobdDaemon`. */
export interface DaemonOptions extends LauncherOptions {
  /** A URL, such as `mysql://…`, `postgres://…` or `sqlite:/path/jobs.db`, or its parts. */
  readonly database: string | DatabaseLocation;
  /** @default 'jobs' */
  readonly table?: string;
  /** Rows that are fetched at once; 0 for all. @default 100 */
  readonly fetchLimit?: number;
  readonly targets: ReadonlyMap<string, TargetOptions>;
  /** This daemon's name, for others. @default the host's name */
  readonly name?: string;
  /** How often all targets are polled, for tables without a master. @default never */
  readonly pollInterval?: Duration;
  /** What happens to jobs whose daemon died, or ended them at its shutdown. @default 'fail' */
  readonly orphans?: OrphanPolicy;
  /** How long a daemon without a heartbeat keeps its rows. @default '15s' */
  readonly lease?: Duration;
  /** How long running jobs may continue when the daemon stops. @default '30s' */
  readonly drainTimeout?: Duration;
  /** How long `runManual` waits during an outage of the database. @default '10s' */
  readonly manualPatience?: Duration;
  readonly log?: JobdLog;
}

export const DAEMON_OPTIONS = optionNames<DaemonOptions>({
  launcher: true,
  cwd: true,
  env: true,
  maxOutputBuffer: true,
  outputGrace: true,
  killGrace: true,
  posixSpawn: true,
  database: true,
  table: true,
  fetchLimit: true,
  targets: true,
  name: true,
  pollInterval: true,
  orphans: true,
  lease: true,
  drainTimeout: true,
  manualPatience: true,
  log: true,
});
const TARGET = optionNames<TargetOptions>({ concurrency: true, timeout: true, retry: true });

/** Rows at once. */
export const MAX_FETCH_LIMIT = 1_000_000;

/** The options with their defaults, times in milliseconds. */
export interface CheckedOptions extends DaemonOptions {
  readonly table: string;
  readonly fetchLimit: number;
  readonly targets: ReadonlyMap<string, CheckedTarget>;
  readonly name: string;
  readonly pollInterval?: number;
  readonly orphans: OrphanPolicy;
  readonly lease: number;
  readonly drainTimeout: number;
  readonly manualPatience: number;
  readonly log: JobdLog;
}

/** The shortest interval between polls, and the shortest lease. */
const LEAST_MS = 100;

/** @throws ConfigurationError, InvalidOptionError */
export function checkDaemonOptions(options: DaemonOptions): CheckedOptions {
  checkOptions('JobdDaemon', options, DAEMON_OPTIONS);
  const { fetchLimit = 100, orphans = 'fail', pollInterval } = options;
  checkWhole('fetchLimit', fetchLimit, 0, MAX_FETCH_LIMIT);
  if (orphans !== 'requeue' && orphans !== 'fail')
    throw new InvalidOptionError('orphans', orphans, "'requeue' or 'fail'");
  return {
    ...options,
    table: options.table ?? 'jobs',
    fetchLimit,
    targets: new Map([...options.targets].map(([name, target]) => [name, checkTarget(name, target)])),
    name: options.name ?? hostname(),
    pollInterval:
      pollInterval === undefined
        ? undefined
        : toMilliseconds('pollInterval', pollInterval, { least: LEAST_MS }),
    orphans,
    lease: millisecondsOr('15s', 'lease', options.lease, { least: LEAST_MS }),
    drainTimeout: millisecondsOr('30s', 'drainTimeout', options.drainTimeout, { least: 0 }),
    manualPatience: millisecondsOr('10s', 'manualPatience', options.manualPatience, { least: 0 }),
    log: options.log ?? SILENT,
  };
}

function checkTarget(name: string, target: TargetOptions): CheckedTarget {
  const { concurrency, timeout, retry } = checkOptions(`targets.${name}`, target, TARGET);
  checkWhole(`targets.${name}.concurrency`, concurrency, 1, 1_000_000);
  return defined({
    concurrency,
    timeout: timeout === undefined ? undefined : toMilliseconds(`targets.${name}.timeout`, timeout),
    retry: retry && checkRetry(retry),
  });
}
