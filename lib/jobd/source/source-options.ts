import { hostname } from 'node:os';
import { millisecondsOr, toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { JobdLog } from '../vocabulary/log.js';
import { SILENT } from '../vocabulary/logging.js';
import { MAX_TARGET_LENGTH } from '../protocol/target-lists.js';
import type { OrphanPolicy } from '../storage/daemon-registry.js';
import type { DatabaseLocation } from '../storage/database-location.js';
import { checkMasterAddress, type MasterAddress } from '../protocol/master-address.js';

/** Options of `jobd`. */
export interface JobdSourceOptions {
  /** A URL, such as `mysql://…`, `postgres://…` or `sqlite:/path/jobs.db`, or its parts. */
  readonly database: string | DatabaseLocation;
  /** @default 'jobs' */
  readonly table?: string;
  /** The targets that may have handlers; each is a function. */
  readonly targets: readonly string[];
  /** The column that is a handler's input, in the instance's codec. @default the whole row, as JSON */
  readonly input?: string;
  /** The master that sends polls when rows were added. @default none */
  readonly master?: MasterAddress;
  /** How often it polls by itself, for tables without a master. @default never */
  readonly pollInterval?: Duration;
  /** What happens to rows whose app or daemon died while they ran. @default 'fail' */
  readonly orphans?: OrphanPolicy;
  /** How long an app without a heartbeat keeps its rows. @default '15s' */
  readonly lease?: Duration;
  /** How long `run-manual` waits during an outage of the database. @default '10s' */
  readonly manualPatience?: Duration;
  /** This app's name in the master's list. @default the host's name */
  readonly name?: string;
  /** @default Nest's logger, for a source that `jobd()` makes */
  readonly log?: JobdLog;
}

const KNOWN = optionNames<JobdSourceOptions>({
  database: true,
  table: true,
  targets: true,
  input: true,
  master: true,
  pollInterval: true,
  orphans: true,
  lease: true,
  manualPatience: true,
  name: true,
  log: true,
});

export interface CheckedSourceOptions extends JobdSourceOptions {
  readonly table: string;
  readonly name: string;
  readonly orphans: OrphanPolicy;
  readonly log: JobdLog;
  /** Milliseconds. */
  readonly lease: number;
  readonly manualPatience: number;
  readonly pollInterval?: number;
}

const MIN_LEASE_MS = 100;

/** The options with their defaults. @throws ConfigurationError, InvalidOptionError */
export function checkSourceOptions(options: JobdSourceOptions): CheckedSourceOptions {
  const { targets, orphans = 'fail', pollInterval, input } = checkOptions('jobd', options, KNOWN);
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every(isTarget))
    throw new InvalidOptionError('targets', targets, "one target's name or more");
  if (orphans !== 'fail' && orphans !== 'requeue')
    throw new InvalidOptionError('orphans', orphans, "'requeue' or 'fail'");
  if (input !== undefined && (typeof input !== 'string' || input === ''))
    throw new InvalidOptionError('input', input, 'the name of a column');
  return {
    ...options,
    table: options.table ?? 'jobs',
    name: options.name ?? hostname(),
    orphans,
    log: options.log ?? SILENT,
    master: options.master && checkMasterAddress(options.master),
    lease: millisecondsOr('15s', 'lease', options.lease, { least: MIN_LEASE_MS }),
    manualPatience: millisecondsOr('10s', 'manualPatience', options.manualPatience, { least: 0 }),
    pollInterval: pollInterval === undefined ? undefined : toMilliseconds('pollInterval', pollInterval),
  };
}

function isTarget(target: unknown): boolean {
  return typeof target === 'string' && target !== '' && target.length <= MAX_TARGET_LENGTH;
}
