import { defined } from '../job/defined.js';
import { messageOf } from '../job/errors.js';
import type { SourceHealth } from '../job/job-source.js';
import type { ChannelHub } from './channel-hub.js';
import type { RedisConnection } from './redis-connection.js';

interface Connections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
}

/** What is known from the connections, which are opened if nothing has yet. */
export function healthOf(
  { commands, hub }: Connections,
  blocking: { readonly isDown: boolean },
): SourceHealth {
  // The subscriber is the one that is never idle: a worker with no free slot asks nothing on the others.
  commands.open();
  const trouble = commands.trouble ?? hub.trouble;
  const connected = commands.isReady && !blocking.isDown && !hub.isDown;
  return defined({ connected, problem: trouble === undefined ? undefined : messageOf(trouble) });
}
