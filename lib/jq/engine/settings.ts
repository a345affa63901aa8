import { encode } from '@msgpack/msgpack';
import { checkWhole } from '../../job/check-whole.js';
import { millisecondsOr, type Duration } from '../../job/duration.js';
import { LONGEST_POLL_SECONDS } from '../wire/polling.js';

/** Settings that all masters on one Redis should share. */
export interface EngineOptions {
  /** The first wait before a retry; it doubles with each failure. @default '1s' */
  backoff?: Duration;
  /** The longest wait before a retry. @default '5m' */
  backoffCap?: Duration;
  /** How long to wait for a job's report after its timeout. @default '2s' */
  grace?: Duration;
  /** How long a push may take: connecting, a second try on a broken connection, and the worker's answer. @default '5s' */
  pushTimeout?: Duration;
  /** How many unanswered pushes one worker may have. @default 64 */
  maxPushes?: number;
  /** How long a worker gets no jobs after a failed push; it doubles each time. @default '1s' */
  suspect?: Duration;
  /** @default '60s' */
  suspectCap?: Duration;
  /** After how many failed pushes or timed-out jobs in a row a worker is lost. @default 3 */
  lostAfter?: number;
  /** After how long a silence a worker is lost, if it pulls or has pinged. @default '60s' */
  silence?: Duration;
  /** How often a job may go back because its worker was lost. @default 3 */
  maxLosses?: number;
  /** How long a lost worker is remembered. @default '1h' */
  forgetWorker?: Duration;
  /** How long a worker's 404 for a name is remembered. @default '60s' */
  forgetMissingName?: Duration;
  /** How long an unread result is kept. @default '1h' */
  unreadResult?: Duration;
  /** How long a result is kept after it was first read. @default '30s' */
  readResult?: Duration;
  /** How long a job that has ended is remembered. @default '25h' */
  tombstone?: Duration;
  /** How long an Idempotency-Key is remembered. @default '24h' */
  forgetKey?: Duration;
  /** How many jobs may wait; further ones are refused with 429. @default 1_000_000 */
  maxQueued?: number;
  /** How many bytes arguments of 1 KiB and more may add up to, dead letters included. @default 4 GiB */
  maxQueuedBytes?: number;
  /** How many Idempotency-Keys are remembered for `forgetKey`; further ones for a minute. @default 10_000_000 */
  maxKeys?: number;
  /** @default 10_000 */
  maxWorkers?: number;
  /** How many workers one token, or one address without tokens, may register. @default half of `maxWorkers` */
  maxWorkersPerClient?: number;
  /** The sum of its workers' `max_jobs`, which limits its running jobs. @default no limit */
  maxJobsPerClient?: number;
  /** @default 1000 */
  maxConstraints?: number;
}

/** Names of all engine options. */
export const ENGINE_OPTIONS: Readonly<Record<keyof EngineOptions, true>> = {
  backoff: true,
  backoffCap: true,
  grace: true,
  pushTimeout: true,
  maxPushes: true,
  suspect: true,
  suspectCap: true,
  lostAfter: true,
  silence: true,
  maxLosses: true,
  forgetWorker: true,
  forgetMissingName: true,
  unreadResult: true,
  readResult: true,
  tombstone: true,
  forgetKey: true,
  maxQueued: true,
  maxQueuedBytes: true,
  maxKeys: true,
  maxWorkers: true,
  maxWorkersPerClient: true,
  maxJobsPerClient: true,
  maxConstraints: true,
};

/** The settings as the scripts name them, in milliseconds. */
export interface EngineSettings {
  readonly backoff: number;
  readonly backoff_cap: number;
  readonly grace: number;
  readonly push_timeout: number;
  /** After how long a push counts as lost with its master, from when the job was handed out. */
  readonly push_lease: number;
  readonly max_pushes: number;
  readonly suspect: number;
  readonly suspect_cap: number;
  readonly lost_after: number;
  readonly silence: number;
  readonly max_losses: number;
  readonly forget_worker: number;
  readonly forget_missing_name: number;
  readonly unread_result: number;
  readonly read_result: number;
  readonly tombstone: number;
  readonly forget_key: number;
  readonly max_queued: number;
  readonly max_queued_bytes: number;
  readonly max_keys: number;
  readonly max_workers: number;
  readonly max_client_workers: number;
  readonly max_client_jobs: number;
  readonly max_constraints: number;
  readonly longest_poll: number;
}

/** Time for a master to read which jobs it has handed out: what is read later may be another worker's by then. */
export const READING_MS = 2500;
/** Time for a master to record how a push ended. */
const RECORDING_MS = 2500;
const POLL_MARGIN_MS = 5000;

/** @throws InvalidOptionError */
export function engineSettings(options: EngineOptions = {}): EngineSettings {
  const ms = (name: keyof EngineOptions, duration: Duration): number =>
    millisecondsOr(duration, name, options[name] as Duration | undefined);
  const count = (name: keyof EngineOptions, absent: number, min = 0): number => {
    return checkWhole(name, (options[name] as number | undefined) ?? absent, min);
  };
  const pushTimeout = ms('pushTimeout', '5s');
  const maxWorkers = count('maxWorkers', 10_000);
  return {
    backoff: ms('backoff', '1s'),
    backoff_cap: ms('backoffCap', '5m'),
    grace: ms('grace', '2s'),
    push_timeout: pushTimeout,
    push_lease: READING_MS + pushTimeout + RECORDING_MS,
    max_pushes: count('maxPushes', 64, 1),
    suspect: ms('suspect', '1s'),
    suspect_cap: ms('suspectCap', '60s'),
    lost_after: count('lostAfter', 3),
    silence: ms('silence', '60s'),
    max_losses: count('maxLosses', 3),
    forget_worker: ms('forgetWorker', '1h'),
    forget_missing_name: ms('forgetMissingName', '60s'),
    unread_result: ms('unreadResult', '1h'),
    read_result: ms('readResult', '30s'),
    tombstone: ms('tombstone', '25h'),
    forget_key: ms('forgetKey', '24h'),
    max_queued: count('maxQueued', 1_000_000),
    max_queued_bytes: count('maxQueuedBytes', 4 * 1024 ** 3),
    max_keys: count('maxKeys', 10_000_000),
    max_workers: maxWorkers,
    max_client_workers: count('maxWorkersPerClient', Math.ceil(maxWorkers / 2)),
    max_client_jobs: count('maxJobsPerClient', Number.MAX_SAFE_INTEGER),
    max_constraints: count('maxConstraints', 1000),
    longest_poll: LONGEST_POLL_SECONDS * 1000 + POLL_MARGIN_MS,
  };
}

/** The settings in the form that the scripts read. */
export function packSettings(settings: EngineSettings): Buffer {
  return Buffer.from(encode(settings));
}
