import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import { OWN_CLUSTER_SETTINGS, ownSettings } from './own-settings.js';

/** A Redis Cluster, given by some of its nodes; they tell the client the others. */
export interface ClusterSettings extends ClusterOptions {
  /** URLs, ports or `{ host, port }`. Name several in case one is down. */
  nodes: ClusterNode[];
}

/** A client of any version of ioredis: the app's may differ from ours. */
export interface IoredisClient {
  readonly options: object;
  duplicate(...args: never[]): unknown;
}

/** A URL, ioredis options, a cluster's nodes, or an ioredis client whose settings are used. A given client is never closed. */
export type ConnectionSpec = string | RedisOptions | ClusterSettings | IoredisClient;

/** A client with our settings, not connected yet. */
export function connect(spec: ConnectionSpec, role: string): Redis | Cluster {
  if (!isCluster(spec)) return new Redis({ ...redisOptions(spec), ...ownSettings(role) });
  return new Cluster([...startupNodes(spec)], ownClusterOptions(spec, role));
}

/** The app's options of a connection to a single server. */
export function redisOptions(spec: ConnectionSpec): RedisOptions {
  // Parsed here, because ioredis lets the URL override options that are passed beside it.
  if (typeof spec === 'string') return new Redis(spec, { lazyConnect: true }).options;
  return isClient(spec) ? (spec.options as RedisOptions) : (spec as RedisOptions);
}

/** The options of a cluster client: the app's, then ours. */
export function ownClusterOptions(spec: ClusterSpec, role: string): ClusterOptions {
  const options = clusterOptions(spec);
  return {
    ...options,
    ...OWN_CLUSTER_SETTINGS,
    redisOptions: { ...options.redisOptions, ...ownSettings(role) },
  };
}

export type ClusterSpec = ClusterSettings | IoredisClient;

export function isCluster(spec: ConnectionSpec): spec is ClusterSpec {
  if (typeof spec !== 'object') return false;
  if (isClient(spec)) return 'isCluster' in spec && spec.isCluster === true;
  return 'nodes' in spec && Array.isArray(spec.nodes);
}

/** The app's options of a cluster. */
export function clusterOptions(spec: ClusterSpec): ClusterOptions {
  if (isClient(spec)) return spec.options as ClusterOptions;
  const { nodes: _, ...options } = spec;
  return options;
}

/** The nodes that the app named. A client keeps them in a private field, with this name in all versions of ioredis. */
export function startupNodes(spec: ClusterSpec): readonly ClusterNode[] {
  if (!isClient(spec)) return spec.nodes;
  const { startupNodes: nodes } = spec as { startupNodes?: readonly ClusterNode[] };
  return Array.isArray(nodes) ? nodes : [];
}

/** Checks the shape: a client of another copy of ioredis is no instance of our classes. */
function isClient(spec: Exclude<ConnectionSpec, string>): spec is Redis | Cluster | IoredisClient {
  return 'duplicate' in spec && typeof spec.duplicate === 'function' && 'options' in spec;
}
