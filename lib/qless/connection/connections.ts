import { ConfigurationError } from '../../job/errors.js';
import { ChannelHub } from '../../redis/channel-hub.js';
import { isCluster, type ConnectionSpec } from '../../redis/connect.js';
import { nodeConnection } from '../../redis/node-connection.js';
import type { ConnectionLog } from '../../redis/outage-log.js';
import { toPlainConnection, type PlainConnection } from '../../redis/plain-connection.js';
import { RedisConnection } from '../../redis/redis-connection.js';

/** The server of a qless, and the prefix of its keys. */
export interface QlessServer {
  /**
   * A URL, ioredis options, a cluster's nodes, or an ioredis client, whose settings are copied. The client itself is not used.
   */
  connection: ConnectionSpec;
  /**
   * The prefix of all keys and channels. On a cluster it needs a hash tag, which puts them on one node.
   * @default 'ql:', and '{ql}:' on a cluster
   */
  prefix?: string;
}

/** Connections to one qless, opened when they are first needed. */
export interface QlessConnections {
  readonly prefix: string;
  readonly commands: RedisConnection;
  /** What another thread connects with. */
  readonly keeper: PlainConnection | undefined;
  /** The option for which it can't. */
  readonly obstacle?: string;
  /** A further one for calls that block. The caller closes it. */
  blocking(): RedisConnection;
  hub(): ChannelHub;
}

/** @throws ConfigurationError */
export function openConnections({ connection, prefix }: QlessServer, log?: ConnectionLog): QlessConnections {
  const commands = new RedisConnection(connection, 'qless', log);
  const onCluster = isCluster(connection);
  return {
    prefix: checkPrefix(prefix ?? (onCluster ? '{ql}:' : 'ql:'), onCluster),
    commands,
    ...toPlainConnection(connection, 'qless-keeper'),
    blocking: () => new RedisConnection(connection, 'qless-blocking'),
    hub: () => {
      if (onCluster) return new ChannelHub(nodeConnection(commands, connection, 'qless-subscriber'), log);
      const subscriber = new RedisConnection(connection, 'qless-subscriber');
      commands.onDemoted(() => subscriber.renew());
      return new ChannelHub(subscriber, log);
    },
  };
}

function checkPrefix(prefix: string, onCluster: boolean): string {
  if (typeof prefix !== 'string' || !/^\S+$/.test(prefix)) {
    throw new ConfigurationError("`prefix` of qless must be text without white space, such as 'ql:'.");
  }
  if (onCluster && !/\{[^}]+\}/.test(prefix)) {
    throw new ConfigurationError(
      `On a cluster the \`prefix\` of qless needs a hash tag, such as '{ql}:'. "${prefix}" has none.`,
    );
  }
  return prefix;
}
