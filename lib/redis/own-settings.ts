import type { ClusterOptions, RedisOptions } from 'ioredis';

const RECONNECT_STEP_MS = 50;
const RECONNECT_MAX_MS = 1000;
const reconnectDelay = (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_MAX_MS);
/** A sentinel that answers at all does so at once. */
const SENTINEL_TIMEOUT_MS = 1500;

/** What a socket may owe a reply for before it is taken for dead, in ms. */
export const SILENCE_MS = 1500;

/**
 * The options that hold as we need them on every connection, whatever the app gave. Commands are neither queued
 * while offline nor sent twice: who sends them decides what a broken connection means. A socket that owes a reply
 * for too long is taken for dead, so nothing else times commands out. Replies have the shapes that are decoded.
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
  socketTimeout: SILENCE_MS,
  commandTimeout: undefined,
  blockingTimeout: undefined,
  blockingTimeoutGrace: 100,
  connectTimeout: 1500,
  disconnectTimeout: 200,
  // Redis' own guess of the time it still loads is often seconds too long.
  maxLoadingRetryTime: 250,
  retryStrategy: reconnectDelay,
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
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
 * A cluster's client follows redirections, and asks again 100 ms after a node has gone: until it gives up,
 * a failed master has often been replaced. Replicas are not read: they lag behind.
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

/** Ours, for a single connection; `role` is what CLIENT LIST shows. */
export function ownSettings(role: string) {
  return { ...OWN_SETTINGS, connectionName: `nestjs-gearmonkey:${role}` };
}
