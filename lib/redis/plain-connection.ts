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

/** Connection settings of a thread; they may hold passwords. */
export interface PlainSettings {
  readonly options: object;
  /** Only of a cluster. */
  readonly nodes?: readonly ClusterNode[];
}

/** Settings that can be passed to another thread. JSON and logs never show them. */
export class PlainConnection {
  readonly #settings: PlainSettings;

  constructor(settings: PlainSettings) {
    this.#settings = settings;
  }

  /** Returns the settings. Pass them only to the thread. */
  reveal(): PlainSettings {
    return this.#settings;
  }
}

/** The connection of the lease keeper's thread, or why there is none. */
export interface KeeperConnection {
  readonly keeper: PlainConnection | undefined;
  /** The option that can't be passed to a thread. */
  readonly obstacle?: string;
}

/** Options that the thread sets itself: our own functions and the timing of the connection. */
const MADE_ANEW = new Set([
  'retryStrategy',
  'reconnectOnError',
  'sentinelRetryStrategy',
  'sentinelReconnectStrategy',
  'clusterRetryStrategy',
  'redisOptions',
]);

/** Functions that are ioredis' own defaults. */
const DEFAULTS = new Map<string, unknown>([
  ['dnsLookup', lookup],
  ['resolveSrv', resolveSrv],
]);

/**
 * The connection settings for a thread, which must connect exactly as the app asked for. If an option can't be passed
 * to a thread, such as a function in `tls`, there are none.
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

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
