import { ChannelHub } from '../redis/channel-hub.js';
import { isCluster, type ConnectionSpec } from '../redis/connect.js';
import { nodeConnection } from '../redis/node-connection.js';
import { toPlainConnection } from '../redis/plain-connection.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { ownTagKeysOf, taggedKeysOf } from './core/wire/hash-tags.js';
import { keysOf, type KeysOf } from './core/wire/protocol.js';
import type { ConnectionLog } from '../redis/outage-log.js';
import type { SourceConnections } from './core/source/source-options.js';

/** The connections of a module instance. */
export interface RedisConnections extends SourceConnections {
  readonly keysOf: KeysOf;
  /** Closes the connections that source and store don't close. */
  close(): void;
}

/**
 * Connections are opened when they are first needed. A single server has four: for commands, for subscriptions, for
 * blocking calls that wait for work, and for the lease keeper. On a cluster the first and the last are one per master,
 * and blocking calls have one per slot.
 *
 * @param log gets a line for each outage
 * @throws ConfigurationError
 */
export function openConnections(
  spec: ConnectionSpec,
  hashTag = false,
  log?: ConnectionLog,
): RedisConnections {
  const commands = new RedisConnection(spec, 'commands', log);
  const keeping = toPlainConnection(spec, 'keeper');
  if (isCluster(spec)) {
    return {
      commands,
      ...keeping,
      hub: new ChannelHub(nodeConnection(commands, spec, 'subscriber'), log),
      blocking: (key) => nodeConnection(commands, spec, 'blocking', key),
      keysOf: hashTag ? taggedKeysOf : ownTagKeysOf,
      close: () => undefined,
    };
  }
  const blocking = new RedisConnection(spec, 'blocking');
  const subscriber = new RedisConnection(spec, 'subscriber');
  // Subscriptions need the master too: what is published may not reach the replica of a replica.
  commands.onDemoted(() => subscriber.renew());
  return {
    commands,
    ...keeping,
    hub: new ChannelHub(subscriber, log),
    blocking,
    keysOf: hashTag ? taggedKeysOf : keysOf,
    close: () => blocking.close(),
  };
}
