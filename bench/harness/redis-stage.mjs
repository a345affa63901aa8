import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { RedisServer } from '../../test/support/redis-server.ts';
import { median } from './statistics.mjs';

const PROXY = fileURLToPath(new URL('./delay-proxy.mjs', import.meta.url));
const SETTINGS = ['save', 'appendonly', 'io-threads', 'maxmemory'];
const PINGS = 200;

/**
 * Starts a private Redis on a free port, and a proxy to it that delays each round trip.
 *
 * @param {{ args?: string[], delayMs?: number }} options `args` as on redis-server's command line
 * @returns {Promise<import('./suite.mjs').Stage>} with the addresses `redis` and, given a delay, `delayedRedis`
 */
export async function startRedis({ args = [], delayMs } = {}) {
  const server = await RedisServer.start(args);
  const proxy = delayMs === undefined ? undefined : await startProxy(server.port, delayMs);
  const addresses = { redis: server.url, ...(proxy && { delayedRedis: proxy.url }) };
  return {
    addresses,
    facts: await describe(addresses, delayMs),
    stop: async () => {
      proxy?.child.disconnect();
      await server.stop();
    },
  };
}

/** Starts the proxy in a separate process, so its CPU time counts for no contender. */
async function startProxy(port, delayMs) {
  const child = fork(PROXY, [String(port), String(delayMs)], { execArgv: [] });
  const [own] = await once(child, 'message');
  return { child, url: `redis://127.0.0.1:${own}` };
}

/** @returns {Promise<[label: string, text: string][]>} */
async function describe({ redis: url, delayedRedis = '' }, delayMs) {
  const redis = new Redis(url);
  try {
    const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1];
    const settings = await Promise.all(SETTINGS.map((name) => redis.config('GET', name)));
    const config = settings.map(([name, value]) => `${name} ${value === '' ? "''" : value}`).join(', ');
    const persistent = settings.some(([, value], index) => index < 2 && value !== '' && value !== 'no');
    /** @type {[label: string, text: string][]} */
    const facts = [
      ['redis', `Redis ${version} of its own, TCP on loopback`],
      ['persistence', `${persistent ? 'yes' : 'none'} (${config})`],
    ];
    if (delayedRedis) facts.push(['network', await describeDelay(redis, delayedRedis, delayMs)]);
    return facts;
  } finally {
    redis.disconnect();
  }
}

async function describeDelay(redis, delayedUrl, delayMs) {
  const delayed = new Redis(delayedUrl);
  try {
    const [direct, through] = [await pingMs(redis), await pingMs(delayed)];
    const added = `a PING takes ${through.toFixed(2)} ms instead of ${direct.toFixed(2)} ms`;
    return `delayed by a proxy process that holds requests for ${delayMs} ms and replies not at all: ${added} (p50)`;
  } finally {
    delayed.disconnect();
  }
}

async function pingMs(redis) {
  const times = [];
  for (let i = 0; i < PINGS; i++) {
    const started = performance.now();
    await redis.ping();
    times.push(performance.now() - started);
  }
  return median(times);
}
