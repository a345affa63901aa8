import { AbstractConnector, type Cluster, Redis, type RedisOptions } from 'ioredis';
import { createConnection, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../job/defined.js';
import { masterOf, refreshSlots } from './cluster-slots.js';
import { clusterOptions, type ClusterSpec } from './connect.js';
import { ownSettings } from './own-settings.js';
import { RedisConnection } from './redis-connection.js';
import { RETRY_MS } from './retry.js';

/** Replies of a node that no longer serves the key, or is no longer a master. */
const ELSEWHERE = /^(MOVED|ASK|READONLY|UNBLOCKED)\b/;

/**
 * One connection to one node of a cluster: the master of `key`, or any node without a key. At each reconnect, `through`
 * finds out which node that is now.
 */
export function nodeConnection(
  through: RedisConnection,
  spec: ClusterSpec,
  role: string,
  key?: string,
): RedisConnection {
  const { redisOptions } = clusterOptions(spec);
  const options = { ...redisOptions, ...ownSettings(role) };
  class Connector extends NodeConnector {
    constructor() {
      super(options, () => findNode(through, key));
    }
  }
  const reconnectOnError = (error: Error) => ELSEWHERE.test(error.message);
  return new RedisConnection(() => new Redis({ ...options, reconnectOnError, Connector }), role);
}

/** The options of a connection to the node, including its address. */
async function findNode(
  through: RedisConnection,
  key: string | undefined,
): Promise<RedisOptions | undefined> {
  const cluster = (await through.ready()) as Cluster;
  await refreshSlots(cluster);
  if (key !== undefined) return masterOf(cluster, key)?.options;
  const nodes = cluster.nodes('all');
  return nodes[Math.floor(Math.random() * nodes.length)]?.options;
}

/** Finds the node first, then opens a socket to it. */
class NodeConnector extends AbstractConnector {
  constructor(
    { disconnectTimeout }: { disconnectTimeout: number },
    private readonly find: () => Promise<RedisOptions | undefined>,
  ) {
    super(disconnectTimeout);
  }

  override async connect(): Promise<Socket> {
    this.connecting = true;
    const node = await this.found();
    const { host = '127.0.0.1', port = 6379, family, tls } = node;
    const address = defined({ host, port, family });
    const socket = tls
      ? connectTls({ ...address, ...(tls as ConnectionOptions) })
      : createConnection(address);
    socket.once('error', (error) => (this.firstError = error));
    this.stream = socket;
    return socket;
  }

  /** ioredis gives up for good if a connector fails, so this one tries until it is disconnected. */
  private async found(): Promise<RedisOptions> {
    for (;;) {
      const node = await this.find();
      if (!this.connecting) throw new Error('Connection is closed.');
      if (node) return node;
      await delay(RETRY_MS);
    }
  }
}
