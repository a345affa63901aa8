import { ChannelHub } from '../redis/channel-hub.js';
import { isCluster, type ConnectionSpec } from '../redis/connect.js';
import { nodeConnection } from '../redis/node-connection.js';
import { toPlainConnection } from '../redis/plain-connection.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { ownTagKeysOf, taggedKeysOf } from './hash-tags.js';
import { keysOf, type KeysOf } from './protocol.js';
import type { SourceConnections } from './redis-source.js';

/** What a module instance has to reach its server with. */
export interface RedisConnections extends SourceConnections {
  readonly keysOf: KeysOf;
  /** Closes what source and store don't. */
  close(): void;
}

/**
 * Opened when they are first needed. Of a single server there are four: commands, subscriptions, the wait
 * for work, and the lease keeper's. On a cluster the first and the last are one for each master, and the wait is one
 * for each slot.
 *
 * @throws ConfigurationError
 */
export function openConnections(spec: ConnectionSpec, hashTag = false): RedisConnections {
  const commands = new RedisConnection(spec, 'commands');
  const keeper = toPlainConnection(spec, 'keeper');
  if (isCluster(spec)) {
    return {
      commands,
      keeper,
      hub: new ChannelHub(nodeConnection(commands, spec, 'subscriber')),
      blocking: (key) => nodeConnection(commands, spec, 'blocking', key),
      keysOf: hashTag ? taggedKeysOf : ownTagKeysOf,
      close: () => undefined,
    };
  }
  const blocking = new RedisConnection(spec, 'blocking');
  return {
    commands,
    keeper,
    hub: new ChannelHub(new RedisConnection(spec, 'subscriber')),
    blocking,
    keysOf: hashTag ? taggedKeysOf : keysOf,
    close: () => blocking.close(),
  };
}
