import { lookup, resolveSrv } from 'node:dns';
import type { ClusterNode } from 'ioredis';
import {
  isCluster,
  ownClusterOptions,
  redisOptions,
  startupNodes,
  type ClusterSpec,
  type ConnectionSpec,
} from './connect.js';
import { ownSettings } from './own-settings.js';

/** What a thread connects with: it may hold passwords. */
export interface PlainSettings {
  readonly options: object;
  /** Of a cluster. */
  readonly nodes?: readonly ClusterNode[];
}

/** Settings that may be handed to another thread. They show in no JSON and no log. */
export class PlainConnection {
  readonly #settings: PlainSettings;

  constructor(settings: PlainSettings) {
    this.#settings = settings;
  }

  /** For the thread, and nobody else. */
  reveal(): PlainSettings {
    return this.#settings;
  }
}

/** What another thread keeps leases with, or why it can't. */
export interface KeeperConnection {
  readonly keeper: PlainConnection | undefined;
  /** The option that can't be handed over. */
  readonly obstacle?: string;
}

/** Our own functions, which the thread has too, and what only names the connection's timing. */
const MADE_ANEW = new Set([
  'retryStrategy',
  'reconnectOnError',
  'sentinelRetryStrategy',
  'sentinelReconnectStrategy',
  'clusterRetryStrategy',
  'redisOptions',
]);

/** Functions that ioredis puts there itself. */
const DEFAULTS = new Map<string, unknown>([
  ['dnsLookup', lookup],
  ['resolveSrv', resolveSrv],
]);

/**
 * The settings of a connection for a thread that connects in no other way than the app said: where one of them
 * can't be handed over, as a function in `tls`, there is none.
 */
export function toPlainConnection(spec: ConnectionSpec, role: string): KeeperConnection {
  return isCluster(spec) ? toPlainCluster(spec, role) : toPlainRedis(spec, role);
}

function toPlainRedis(spec: ConnectionSpec, role: string): KeeperConnection {
  const options = { ...redisOptions(spec), ...ownSettings(role) };
  const obstacle = obstacleIn(options);
  if (obstacle !== undefined) return { keeper: undefined, obstacle };
  return { keeper: new PlainConnection({ options: plain(options) }) };
}

function toPlainCluster(spec: ClusterSpec, role: string): KeeperConnection {
  const options = ownClusterOptions(spec, role);
  const each = options.redisOptions ?? {};
  const nodes = startupNodes(spec);
  const obstacle = isCloneable(nodes) ? (obstacleIn(options) ?? obstacleIn(each, 'redisOptions.')) : 'nodes';
  if (obstacle !== undefined) return { keeper: undefined, obstacle };
  return {
    keeper: new PlainConnection({ nodes, options: { ...plain(options), redisOptions: plain(each) } }),
  };
}

function obstacleIn(options: object, path = ''): string | undefined {
  const found = Object.entries(options).find(
    ([name, value]) => !isLeftOut(name, value) && !isCloneable(value),
  );
  return found && path + found[0];
}

function plain(options: object): object {
  const kept = Object.entries(options).filter(([name, value]) => !isLeftOut(name, value));
  return { ...Object.fromEntries(kept), lazyConnect: false };
}

function isLeftOut(name: string, value: unknown): boolean {
  return value === undefined || MADE_ANEW.has(name) || (DEFAULTS.has(name) && DEFAULTS.get(name) === value);
}

/** A TLS context would be cloned without what it is made of. */
function isCloneable(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && 'secureContext' in value && value.secureContext)
    return false;
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
