import { messageOf } from '../job/errors.js';
import type { SourceHealth } from '../job/job-source.js';
import type { ChannelHub } from '../redis/channel-hub.js';
import type { RedisConnection } from '../redis/redis-connection.js';

interface Connections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
}

/** What is known from the connections, which are opened if nothing has yet. */
export function healthOf({ commands, hub }: Connections, waker: { readonly isDown: boolean }): SourceHealth {
  // The subscriber is the one that is never idle: a worker with no free slot asks nothing on the others.
  commands.open();
  const { trouble, isReady } = commands;
  const connected = isReady && !waker.isDown && !hub.isDown;
  return { connected, ...(trouble === undefined ? {} : { problem: messageOf(trouble) }) };
}

/** @throws ConnectionError after `timeout` milliseconds, or at once where no waiting helps */
export async function reach(commands: RedisConnection, timeout: number): Promise<void> {
  await commands.ready(timeout, { patient: false });
  await commands.insist((redis) => redis.ping(), timeout);
}
