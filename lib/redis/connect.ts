import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import { OWN_CLUSTER_SETTINGS, ownSettings } from './own-settings.js';

/** A Redis Cluster by some of its nodes: the others are found through these. */
export interface ClusterSettings extends ClusterOptions {
  /** URLs, ports or `{ host, port }`. Several, so that one may be down. */
  nodes: ClusterNode[];
}

/** A client of any version of ioredis: the app's may differ from ours. */
export interface IoredisClient {
  readonly options: object;
  duplicate(...args: never[]): unknown;
}

/** A URL, ioredis options, a cluster's nodes, or an ioredis client whose settings are used. A given client is never closed. */
export type ConnectionSpec = string | RedisOptions | ClusterSettings | Redis | Cluster | IoredisClient;

/** A client with our settings, not connected yet. */
export function connect(spec: ConnectionSpec, role: string): Redis | Cluster {
  if (!isCluster(spec)) return new Redis({ ...redisOptions(spec), ...ownSettings(role) });
  return new Cluster([...startupNodes(spec)], ownClusterOptions(spec, role));
}

/** What the app said of a single connection. */
export function redisOptions(spec: ConnectionSpec): RedisOptions {
  // What stands in a URL would take precedence over options beside it.
  if (typeof spec === 'string') return new Redis(spec, { lazyConnect: true }).options;
  return isClient(spec) ? (spec.options as RedisOptions) : (spec as RedisOptions);
}

/** The settings of a cluster's client, the app's and ours. */
export function ownClusterOptions(spec: ClusterSpec, role: string): ClusterOptions {
  const options = clusterOptions(spec);
  return {
    ...options,
    ...OWN_CLUSTER_SETTINGS,
    redisOptions: { ...options.redisOptions, ...ownSettings(role) },
  };
}

export type ClusterSpec = ClusterSettings | Cluster | IoredisClient;

export function isCluster(spec: ConnectionSpec): spec is ClusterSpec {
  if (typeof spec !== 'object') return false;
  if (isClient(spec)) return 'isCluster' in spec && spec.isCluster === true;
  return 'nodes' in spec && Array.isArray(spec.nodes);
}

/** What the app said of a cluster. */
export function clusterOptions(spec: ClusterSpec): ClusterOptions {
  if (isClient(spec)) return spec.options as ClusterOptions;
  const { nodes: _, ...options } = spec;
  return options;
}

/** The nodes that the app named. ioredis keeps those of a client to itself, under this name in all its versions. */
export function startupNodes(spec: ClusterSpec): readonly ClusterNode[] {
  if (!isClient(spec)) return spec.nodes;
  const { startupNodes: nodes } = spec as { startupNodes?: readonly ClusterNode[] };
  return Array.isArray(nodes) ? nodes : [];
}

/** By its shape: a client of another copy of ioredis is an instance of another class. */
function isClient(spec: Exclude<ConnectionSpec, string>): spec is Redis | Cluster | IoredisClient {
  return 'duplicate' in spec && typeof spec.duplicate === 'function' && 'options' in spec;
}
