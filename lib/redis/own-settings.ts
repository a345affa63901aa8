import { isReadOnly } from './redis-errors.js';
import type { ClusterOptions, RedisOptions } from 'ioredis';

const RECONNECT_STEP_MS = 50;
const RECONNECT_MAX_MS = 1000;
const reconnectDelay = (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_MAX_MS);
/** A sentinel that is up answers quickly. */
const SENTINEL_TIMEOUT_MS = 1500;

/** How long a reply may be overdue before the socket counts as dead, in ms. */
export const SILENCE_MS = 1500;

/**
 * Options that this package sets on every connection, over the app's. Commands are neither queued while offline nor
 * sent again by ioredis: the caller decides what to do after a broken connection. A socket with an overdue reply counts
 * as dead, so commands need no timeout of their own. Replies keep the types that the decoders expect.
 */
export const OWN_SETTINGS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  offlineQueue: undefined,
  commandQueue: undefined,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
  disableClientInfo: true,
  clientInfoTag: undefined,
  // For the keeper's thread. Other connections have endWhenSilent.
  socketTimeout: SILENCE_MS,
  commandTimeout: undefined,
  blockingTimeout: undefined,
  blockingTimeoutGrace: 100,
  connectTimeout: 1500,
  disconnectTimeout: 200,
  // Redis' estimate of its loading time is often seconds too long.
  maxLoadingRetryTime: 250,
  retryStrategy: reconnectDelay,
  reconnectOnError: isReadOnly,
  stringNumbers: false,
  replyMapping: 'legacy',
  monitor: false,
  scripts: undefined,
  himportFieldsets: undefined,
  preferredSlaves: undefined,
  sentinelRetryStrategy: reconnectDelay,
  sentinelReconnectStrategy: reconnectDelay,
  sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
} satisfies RedisOptions;

/**
 * A cluster client follows redirections, and retries 100 ms after a node failed: before it gives up, a failed master
 * has often been replaced. It does not read from replicas, which lag behind.
 */
export const OWN_CLUSTER_SETTINGS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
  scaleReads: 'master',
  shardedSubscribers: false,
  maxRedirections: 16,
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
  retryDelayOnTryAgain: 100,
  retryDelayOnMoved: 0,
  clusterRetryStrategy: reconnectDelay,
  clusterNodeRetryStrategy: null,
  scripts: undefined,
  himportFieldsets: undefined,
} satisfies ClusterOptions;

/** Our options of a single connection; CLIENT LIST shows `role`. */
export function ownSettings(role: string) {
  return { ...OWN_SETTINGS, connectionName: `nestjs-gearmonkey:${role}` };
}
