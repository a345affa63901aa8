import { createSecureContext } from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { ConfigurationError } from '../../lib/job/errors.js';
import { checkSpec } from '../../lib/redis/check-spec.js';
import { connect, type ConnectionSpec } from '../../lib/redis/connect.js';
import { toPlainConnection } from '../../lib/redis/plain-connection.js';
import { OWN_CLUSTER_SETTINGS, OWN_SETTINGS } from '../../lib/redis/own-settings.js';

/** What becomes of an option: a new one of ioredis fails the type check until it is decided. */
type Decision = 'passes' | 'ours' | 'refused';

const REDIS: Record<keyof RedisOptions, Decision> = {
  Connector: 'passes',
  autoPipeliningIgnoredCommands: 'ours',
  autoResendUnfulfilledCommands: 'ours',
  autoResubscribe: 'ours',
  blockingTimeout: 'ours',
  blockingTimeoutGrace: 'ours',
  clientInfoTag: 'ours',
  commandQueue: 'ours',
  commandTimeout: 'ours',
  connectTimeout: 'ours',
  connectionName: 'ours',
  db: 'passes',
  disableClientInfo: 'ours',
  disconnectTimeout: 'ours',
  enableAutoPipelining: 'ours',
  enableOfflineQueue: 'ours',
  enableReadyCheck: 'passes',
  enableTLSForSentinelMode: 'passes',
  failoverDetector: 'passes',
  family: 'passes',
  himportFieldsets: 'ours',
  host: 'passes',
  keepAlive: 'passes',
  keyPrefix: 'refused',
  lazyConnect: 'ours',
  maxLoadingRetryTime: 'ours',
  maxRetriesPerRequest: 'ours',
  monitor: 'ours',
  name: 'passes',
  natMap: 'passes',
  noDelay: 'passes',
  offlineQueue: 'ours',
  password: 'passes',
  path: 'passes',
  port: 'passes',
  preferredSlaves: 'ours',
  protocol: 'passes',
  readOnly: 'refused',
  reconnectOnError: 'ours',
  replyMapping: 'ours',
  retryStrategy: 'ours',
  role: 'refused',
  scripts: 'ours',
  sentinelCommandTimeout: 'ours',
  sentinelMaxConnections: 'passes',
  sentinelPassword: 'passes',
  sentinelReconnectStrategy: 'ours',
  sentinelRetryStrategy: 'ours',
  sentinelTLS: 'passes',
  sentinelUsername: 'passes',
  sentinels: 'passes',
  showFriendlyErrorStack: 'passes',
  socketTimeout: 'ours',
  stringNumbers: 'ours',
  tls: 'passes',
  updateSentinels: 'passes',
  username: 'passes',
};

const CLUSTER: Record<keyof ClusterOptions, Decision> = {
  autoPipeliningIgnoredCommands: 'ours',
  clusterNodeRetryStrategy: 'ours',
  clusterRetryStrategy: 'ours',
  dnsLookup: 'passes',
  enableAutoPipelining: 'ours',
  enableOfflineQueue: 'ours',
  enableReadyCheck: 'passes',
  himportFieldsets: 'ours',
  keyPrefix: 'refused',
  lazyConnect: 'ours',
  maxRedirections: 'ours',
  natMap: 'passes',
  redisOptions: 'passes',
  resolveSrv: 'passes',
  retryDelayOnClusterDown: 'ours',
  retryDelayOnFailover: 'ours',
  retryDelayOnMoved: 'ours',
  retryDelayOnTryAgain: 'ours',
  scaleReads: 'ours',
  scripts: 'ours',
  shardedSubscribers: 'ours',
  showFriendlyErrorStack: 'passes',
  slotsRefreshInterval: 'passes',
  slotsRefreshTimeout: 'passes',
  useSRVRecords: 'passes',
};

const ours = (decisions: Record<string, Decision>) =>
  Object.keys(decisions)
    .filter((option) => decisions[option] === 'ours')
    .toSorted();

const WEIRD = {
  commandTimeout: 300,
  socketTimeout: 1,
  stringNumbers: true,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  autoResubscribe: true,
  autoResendUnfulfilledCommands: true,
  maxRetriesPerRequest: null,
  lazyConnect: false,
  retryStrategy: null,
  reconnectOnError: null,
  replyMapping: 'resp3',
  connectionName: 'mine',
} as const;

describe('the options of a connection', () => {
  it('on which this package depends override those of the app', () => {
    expect(Object.keys({ ...OWN_SETTINGS, connectionName: '' }).toSorted()).toEqual(ours(REDIS));
    expect(Object.keys(OWN_CLUSTER_SETTINGS).toSorted()).toEqual(ours(CLUSTER));
  });

  const { lazyConnect: _, ...lazily } = WEIRD;
  const given: [string, () => ConnectionSpec][] = [
    ['options', () => ({ host: 'h', ...WEIRD })],
    ['a client', () => new Redis({ host: 'h', ...lazily, lazyConnect: true })],
    [
      'a URL',
      () => 'redis://h?commandTimeout=300&stringNumbers=true&enableAutoPipelining=true&socketTimeout=1',
    ],
    ['nodes of a cluster', () => ({ nodes: [{ host: 'h' }], redisOptions: WEIRD })],
    ['a cluster', () => new Cluster([{ host: 'h' }], { redisOptions: lazily, lazyConnect: true })],
  ];
  it.each(given)('are overridden in %s', (_name, spec) => {
    const client = connect(spec(), 'commands');
    const options = client instanceof Cluster ? client.options.redisOptions : client.options;
    expect(options).toMatchObject({ ...OWN_SETTINGS, connectionName: 'nestjs-gearmonkey:commands' });
  });

  const refused: [string, RedisOptions & { url?: string }, RegExp][] = [
    ['keyPrefix', { keyPrefix: 'secret' }, /`connection.keyPrefix` changes keys but not channels/],
    ['role', { sentinels: [{ host: 'h' }], name: 'm', role: 'slave' }, /`connection.role` leads to replicas/],
    ['readOnly', { readOnly: true }, /`connection.readOnly` leads to replicas/],
    ['url', { url: 'redis://:secret@h' }, /Pass the URL itself/],
    ['port', { port: 99_999 }, /`connection.port` must be a whole number/],
    ['db', { db: -1 }, /`connection.db` must be a whole number/],
    ['tls', { tls: { ca: 'secret', cert: 'secret', key: 'secret' } }, /`connection.tls` can't be used/],
  ];
  it.each(refused)('refuse %s and say what to do', (_name, options, message) => {
    const checking = () => checkSpec(options);
    expect(checking).toThrow(ConfigurationError);
    expect(checking).toThrow(message);
    expect(checking).not.toThrow('secret');
  });

  const nowhere: [string, unknown, RegExp][] = [
    ['a URL object', new URL('redis://:secret@h:7000'), /Pass the URL as text/],
    ['a list', [{ host: 'h' }], /`connection` is not a URL/],
    ['options that are only inherited', Object.create({ host: 'h' }), /`connection` is not a URL/],
    ['no sentinels', { sentinels: [], name: 'm' }, /`connection.sentinels` is empty/],
    ['TLS by a word', { host: 'h', tls: 'false' }, /`connection.tls` must be an object/],
    ['TLS by a query', 'redis://:secret@h?tls=false', /`connection.tls` must be an object/],
    ['a URL that is badly escaped', 'redis://:secret%zz@h', /`connection` is not a URL/],
  ];
  it.each(nowhere)('refuse %s, which would connect to a wrong server or to none', (_name, spec, message) => {
    const checking = () => checkSpec(spec as ConnectionSpec);
    expect(checking).toThrow(ConfigurationError);
    expect(checking).toThrow(message);
    expect(checking).not.toThrow('secret');
  });

  it('may be an object of a class, or absent', () => {
    class Settings {
      host = 'h';
    }
    for (const spec of [new Settings(), {}, Object.create(null)] as object[])
      expect(() => checkSpec(spec)).not.toThrow();
  });

  it('are also refused in a URL, a client and a cluster', () => {
    const lazyConnect = true;
    expect(() => checkSpec('redis://h?keyPrefix=app')).toThrow('`connection.keyPrefix`');
    expect(() => checkSpec(new Redis({ keyPrefix: 'app', lazyConnect }))).toThrow('`connection.keyPrefix`');
    expect(() => checkSpec({ nodes: [{ host: 'h' }], keyPrefix: 'app' })).toThrow('`connection.keyPrefix`');
    const cluster = new Cluster([{ host: 'h' }], { redisOptions: { keyPrefix: 'app' }, lazyConnect });
    expect(() => checkSpec(cluster)).toThrow('keyPrefix`');
    expect(() => checkSpec({ nodes: [{ host: 'h' }], redisOptions: { db: 1 } })).toThrow(
      'a cluster has no other',
    );
  });
});

describe('a client of another copy of ioredis', () => {
  /** As an instance of a class that we don't know. */
  function foreign(client: Redis | Cluster): ConnectionSpec {
    const { options, isCluster } = client;
    const nodes = (client as unknown as { startupNodes?: unknown }).startupNodes;
    return { options, isCluster, duplicate: () => client, startupNodes: nodes } as ConnectionSpec;
  }

  it('is recognized by its shape, and its settings are used', () => {
    const client = new Redis({ host: 'elsewhere', port: 7394, db: 2, lazyConnect: true });
    expect(connect(foreign(client), 'commands').options).toMatchObject({
      host: 'elsewhere',
      port: 7394,
      db: 2,
      enableOfflineQueue: false,
    });
  });

  it('may be a cluster', () => {
    const client = new Cluster([{ host: 'elsewhere', port: 7394 }], {
      lazyConnect: true,
      slotsRefreshInterval: 7,
    });
    const made = connect(foreign(client), 'commands');
    expect(made).toBeInstanceOf(Cluster);
    expect(made.options).toMatchObject({ slotsRefreshInterval: 7 });
    expect(toPlainConnection(foreign(client), 'keeper').keeper?.reveal().nodes).toEqual([
      { host: 'elsewhere', port: 7394 },
    ]);
  });
});

describe('the connection of the lease keeper', () => {
  const check = () => undefined;
  const obstacles: [string, ConnectionSpec][] = [
    ['tls', { host: 'h', tls: { ca: [], checkServerIdentity: check } }],
    ['tls', { host: 'h', tls: { secureContext: createSecureContext() } }],
    ['natMap', { sentinels: [{ host: 'h' }], name: 'm', natMap: () => null }],
    ['sentinelTLS', { sentinels: [{ host: 'h' }], name: 'm', sentinelTLS: { checkServerIdentity: check } }],
    ['redisOptions.tls', { nodes: [{ host: 'h' }], redisOptions: { tls: { checkServerIdentity: check } } }],
    ['dnsLookup', { nodes: [{ host: 'h' }], dnsLookup: (name, done) => done(null, name) }],
    ['natMap', { nodes: [{ host: 'h' }], natMap: () => null }],
    ['resolveSrv', { nodes: [{ host: 'h' }], useSRVRecords: true, resolveSrv: (_, done) => done(null, []) }],
  ];
  it.each(obstacles)('is undefined if %s holds what can not be passed to a thread', (obstacle, spec) => {
    expect(toPlainConnection(spec, 'keeper')).toEqual({ keeper: undefined, obstacle });
  });

  it('has all options of the app if they can be passed to a thread', () => {
    const tls = { ca: Buffer.from('pem'), servername: 'redis.example', rejectUnauthorized: true };
    const { keeper, obstacle } = toPlainConnection({ host: 'h', password: 'p', tls, db: 3 }, 'keeper');
    expect(obstacle).toBeUndefined();
    expect(structuredClone(keeper?.reveal().options)).toMatchObject({
      host: 'h',
      password: 'p',
      db: 3,
      tls: { servername: 'redis.example', rejectUnauthorized: true },
      connectionName: 'nestjs-gearmonkey:keeper',
    });
  });
});
