import { hostname } from 'node:os';
import { SILENT } from '../vocabulary/logging.js';
import { checkWhole } from '../../job/check-whole.js';
import { MAX_TIMER_MS } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import { checkRetry } from '../../job/retry.js';
import type { LauncherOptions } from '../launcher/launcher.js';
import type { TargetOptions } from '../rows/targets.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { OrphanPolicy } from '../storage/daemon-registry.js';
import type { DatabaseLocation } from '../storage/database-location.js';

/** Times in milliseconds. */
export interface DaemonOptions extends LauncherOptions {
  /** A URL, such as `mysql://…`, `postgres://…` or `sqlite:/path/jobs.db`, or its parts. */
  readonly database: string | DatabaseLocation;
  /** @default 'jobs' */
  readonly table?: string;
  /** Rows that are fetched at once; 0 for all. @default 100 */
  readonly fetchLimit?: number;
  readonly targets: ReadonlyMap<string, TargetOptions>;
  /** What others call this daemon. @default the host's name */
  readonly name?: string;
  /** Polls all targets every so often, for tables that nobody polls for. @default never */
  readonly pollInterval?: number;
  /** What becomes of jobs whose daemon died, or had to end them to shut down. @default 'fail' */
  readonly orphans?: OrphanPolicy;
  /** How long a daemon that gives no sign of life keeps its rows. @default 15_000 */
  readonly lease?: number;
  /** How long running jobs may go on when the daemon stops. @default 30_000 */
  readonly drainTimeout?: number;
  /** How long `runManual` waits for a database that is away. @default 10_000 */
  readonly manualPatience?: number;
  readonly log?: JobdLog;
}

export type CheckedOptions = DaemonOptions &
  Required<
    Pick<
      DaemonOptions,
      'table' | 'fetchLimit' | 'name' | 'orphans' | 'lease' | 'drainTimeout' | 'manualPatience' | 'log'
    >
  >;

/** Rows at once. */
export const MAX_FETCH_LIMIT = 1_000_000;

/** The options with their defaults. @throws InvalidOptionError */
export function checkDaemonOptions(options: DaemonOptions): CheckedOptions {
  const checked = {
    ...options,
    table: options.table ?? 'jobs',
    fetchLimit: options.fetchLimit ?? 100,
    name: options.name ?? hostname(),
    orphans: options.orphans ?? 'fail',
    lease: options.lease ?? 15_000,
    drainTimeout: options.drainTimeout ?? 30_000,
    manualPatience: options.manualPatience ?? 10_000,
    log: options.log ?? SILENT,
  } as const;
  checkWhole('fetchLimit', checked.fetchLimit, 0, MAX_FETCH_LIMIT);
  checkWhole('lease', checked.lease, 100, MAX_TIMER_MS);
  checkWhole('drainTimeout', checked.drainTimeout, 0, MAX_TIMER_MS);
  checkWhole('manualPatience', checked.manualPatience, 0, MAX_TIMER_MS);
  if (options.pollInterval !== undefined) checkWhole('pollInterval', options.pollInterval, 100, MAX_TIMER_MS);
  if (checked.orphans !== 'requeue' && checked.orphans !== 'fail')
    throw new InvalidOptionError('orphans', checked.orphans, "'requeue' or 'fail'");
  for (const [name, target] of options.targets) checkTarget(name, target);
  return checked;
}

/** @throws InvalidOptionError */
export function checkTarget(name: string, { concurrency, timeout, retry }: TargetOptions): void {
  checkWhole(`the concurrency of target '${name}'`, concurrency, 1, 1_000_000);
  if (timeout !== undefined) checkWhole(`the timeout of target '${name}'`, timeout, 1, MAX_TIMER_MS);
  if (retry) checkRetry(retry);
}
