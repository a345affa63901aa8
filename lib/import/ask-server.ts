import type { Cluster, Redis } from 'ioredis';
import { RefusedError } from '../job/server-errors.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { isReply } from '../redis/redis-errors.js';

/** An import has two servers: what one refuses names it. @throws ConnectionError, RefusedError */
export async function askServer<T>(
  server: RedisConnection,
  question: (redis: Redis | Cluster) => Promise<T>,
  patience: number,
): Promise<T> {
  try {
    return await server.insist(question, patience);
  } catch (error) {
    throw isReply(error) ? new RefusedError(`The import at ${server.address}`, error) : error;
  }
}
