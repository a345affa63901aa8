import { constants } from 'node:os';
import '../../scripts/typescript.mjs';

/**
 * Jest's `globalSetup`: a Redis server for each of its workers, whose suites use it one after the other.
 * test/support/shared-redis.ts finds it by its port in the environment.
 */
export default async function startServers({ maxWorkers }) {
  const { RedisServer } = await import('./redis-server.ts');
  const servers = await Promise.all(Array.from({ length: maxWorkers }, () => RedisServer.start()));
  process.env.TEST_REDIS_PORTS = servers.map(({ port }) => port).join();
  // Jest may end without its `globalTeardown`.
  process.once('exit', () => servers.forEach((server) => void server.kill('SIGKILL')));
  // A signal alone would end it without that.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  globalThis.serversOfTests = servers;
}
