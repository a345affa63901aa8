import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import { ConfigurationError } from '../job/errors.js';

/** A Redis Cluster by some of its nodes: the others are found through these. */
export interface ClusterSettings extends ClusterOptions {
  /** URLs, ports or `{ host, port }`. Several, so that one may be down. */
  nodes: ClusterNode[];
}

/** A URL, ioredis options, a cluster's nodes, or an ioredis client whose settings are used. A given client is never closed. */
export type ConnectionSpec = string | RedisOptions | ClusterSettings | Redis | Cluster;

const RECONNECT_STEP_MS = 50;
const RECONNECT_MAX_MS = 1000;
const reconnectDelay = (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_MAX_MS);

/**
 * Commands are neither queued while offline nor sent twice: who sends them decides what a broken
 * connection means. A socket that owes a reply for too long is taken for dead.
 */
export const OWN_SETTINGS = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  lazyConnect: true,
  disableClientInfo: true,
  socketTimeout: 1500,
  connectTimeout: 1500,
  // Redis' own guess of the time it still loads is often seconds too long.
  maxLoadingRetryTime: 250,
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  disconnectTimeout: 200,
  retryStrategy: reconnectDelay,
} satisfies RedisOptions;

/**
 * A cluster's client follows redirections, and asks again 100 ms after a node has gone: until it gives up,
 * a failed master has often been replaced. Replicas are not read: they lag behind.
 */
const OWN_CLUSTER_SETTINGS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  scaleReads: 'master',
  shardedSubscribers: false,
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
  retryDelayOnTryAgain: 100,
  clusterRetryStrategy: reconnectDelay,
  clusterNodeRetryStrategy: null,
} satisfies ClusterOptions;

/** A client with our settings, not connected yet. */
export function connect(spec: ConnectionSpec, role: string): Redis | Cluster {
  const own = ownSettings(role);
  if (spec instanceof Redis) return spec.duplicate(own);
  if (typeof spec === 'string') return new Redis(spec, own);
  if (!isCluster(spec)) return new Redis({ ...spec, ...own });
  const options = clusterOptions(spec);
  const settings = {
    ...options,
    ...OWN_CLUSTER_SETTINGS,
    redisOptions: { ...options.redisOptions, ...own },
  };
  return spec instanceof Cluster ? spec.duplicate([], settings) : new Cluster(spec.nodes, settings);
}

/** Ours, for a single connection; `role` is what CLIENT LIST shows. */
export function ownSettings(role: string) {
  return { ...OWN_SETTINGS, connectionName: `nestjs-gearmonkey:${role}` };
}

export function isCluster(spec: ConnectionSpec): spec is ClusterSettings | Cluster {
  return (
    spec instanceof Cluster || (typeof spec === 'object' && 'nodes' in spec && Array.isArray(spec.nodes))
  );
}

export function clusterOptions(spec: ClusterSettings | Cluster): ClusterOptions {
  if (spec instanceof Cluster) return spec.options;
  const { nodes: _, ...options } = spec;
  return options;
}

/** @throws ConfigurationError without repeating a URL, which may hold a password */
export function checkSpec(spec: ConnectionSpec): void {
  if (typeof spec === 'string' && !(/^rediss?:\/\/./.test(spec) && URL.canParse(spec))) {
    throw new ConfigurationError(
      "`connection` is not a URL like 'redis://127.0.0.1:6379', 'rediss://…' or 'memory:'. For anything else pass ioredis options or a client.",
    );
  }
  if (typeof spec === 'object' && !(spec instanceof Cluster) && isCluster(spec) && spec.nodes.length === 0) {
    throw new ConfigurationError('`connection.nodes` is empty. Name some nodes of the cluster.');
  }
}
