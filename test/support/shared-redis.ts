import { expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { until } from './until.js';

/** Names the suite that used the server before. */
const LAST_SUITE = 'last suite';

export interface SharedRedis {
  readonly url: string;
  readonly port: number;
  /** As if it had just been started: without data, scripts, statistics and other connections. */
  readonly redis: Redis;
  /** @throws if settings or users of the server were changed, which the next suite would have too */
  release(): Promise<void>;
}

/**
 * The server of this Jest worker, which its suites use one after the other. A suite that changes settings or users,
 * or that stops the server, starts one of its own.
 */
export async function shareRedis(): Promise<SharedRedis> {
  const port = portOfWorker();
  const redis = new Redis(port, '127.0.0.1');
  // A test may end this connection too; ioredis connects again by itself.
  redis.on('error', () => undefined);
  try {
    await endOthers(redis);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  await redis.flushall();
  await redis.script('FLUSH');
  await redis.config('RESETSTAT');
  await redis.slowlog('RESET');
  await redis.acl('LOG', 'RESET');
  const before = await settingsOf(redis);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    redis,
    async release() {
      const after = await settingsOf(redis);
      await redis.set(LAST_SUITE, expect.getState().testPath ?? '');
      redis.disconnect();
      const changed = [...after].filter(([name, value]) => before.get(name) !== value);
      if (changed.length === 0) return;
      const names = changed.map(([name]) => name).join(', ');
      throw new Error(`The suite changed ${names} of a server that others use: start one of its own.`);
    },
  };
}

function portOfWorker(): number {
  const ports = (process.env['TEST_REDIS_PORTS'] ?? '').split(',');
  const port = Number(ports[Number(process.env['JEST_WORKER_ID'] ?? 1) - 1]);
  if (!port)
    throw new Error('There is no server of this worker: test/support/start-servers.mjs starts them.');
  return port;
}

/** Ends what is left of the suite before. @throws if its connections come back: it did not close them */
async function endOthers(redis: Redis): Promise<void> {
  const last = await redis.get(LAST_SUITE);
  await until(
    async () => {
      if ((await others(redis)).length === 0) return true;
      await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      return false;
    },
    {
      timeout: 10_000,
      interval: 100,
      message: `${last} left connections to the server that suites share`,
      seen: () => others(redis),
    },
  );
}

/** Other connections than this one. */
async function others(redis: Redis): Promise<string[]> {
  const id = await redis.client('ID');
  const all = String(await redis.client('LIST'))
    .trim()
    .split('\n');
  return all.filter((line) => !line.startsWith(`id=${id} `));
}

/** Values by the names of settings and users. */
async function settingsOf(redis: Redis): Promise<Map<string, string>> {
  const config = (await redis.config('GET', '*')) as string[];
  const settings = config.flatMap((name, index) =>
    index % 2 === 0 ? [[name, config[index + 1] ?? ''] as const] : [],
  );
  const users = (await redis.acl('LIST')) as unknown as string[];
  return new Map([...settings, ['users', users.join('\n')]]);
}
