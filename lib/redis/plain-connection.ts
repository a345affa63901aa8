import { Cluster, type ClusterNode, type Redis } from 'ioredis';
import { lookup } from 'node:dns';
import { clusterOptions, connect, isCluster, type ClusterSettings, type ConnectionSpec } from './connect.js';

/** Settings that may be handed to another thread. */
export interface PlainConnection {
  readonly options: object;
  /** Of a cluster. */
  readonly nodes?: readonly ClusterNode[];
}

/** The settings of a connection, less what is no plain data (functions, TLS contexts); `undefined` if it is no use without. */
export function toPlainConnection(spec: ConnectionSpec, role: string): PlainConnection | undefined {
  if (isCluster(spec)) return toPlainCluster(spec, role);
  const client = connect(spec, role) as Redis;
  const { options } = client;
  return options.Connector ? undefined : { options: { ...plain(options), lazyConnect: false } };
}

function toPlainCluster(spec: ClusterSettings | Cluster, role: string): PlainConnection | undefined {
  const { natMap, dnsLookup } = clusterOptions(spec);
  // Functions that say where nodes are: without them the thread might look for them in vain.
  if (typeof natMap === 'function' || (dnsLookup && dnsLookup !== lookup)) return undefined;
  const cluster = connect(spec, role) as Cluster;
  const { redisOptions = {}, ...options } = cluster.options;
  const nodes = spec instanceof Cluster ? startupNodesOf(spec) : spec.nodes;
  if (nodes === undefined || !isCloneable(nodes)) return undefined;
  return {
    nodes: nodes as ClusterNode[],
    options: { ...plain(options), lazyConnect: false, redisOptions: plain(redisOptions) },
  };
}

/** ioredis keeps them to itself; where it no longer does so under this name, there are none. */
function startupNodesOf(cluster: Cluster): readonly ClusterNode[] | undefined {
  const { startupNodes } = cluster as unknown as { startupNodes?: readonly ClusterNode[] };
  return Array.isArray(startupNodes) ? startupNodes : undefined;
}

function plain(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => isCloneable(value)));
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
