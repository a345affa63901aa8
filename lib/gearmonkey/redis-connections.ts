import { ChannelHub } from '../redis/channel-hub.js';
import { isCluster, type ConnectionSpec } from '../redis/connect.js';
import { nodeConnection } from '../redis/node-connection.js';
import { toPlainConnection } from '../redis/plain-connection.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { ownTagKeysOf, taggedKeysOf } from './wire/hash-tags.js';
import { keysOf, type KeysOf } from './wire/protocol.js';
import type { ConnectionLog } from '../redis/outage-log.js';
import type { SourceConnections } from './source/source-options.js';

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
 * @param log told of outages
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
  // It writes nothing that would be refused, and a replica's replica may lose what is published.
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
