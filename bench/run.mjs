/**
 * Measures this package beside BullMQ and bee-queue, on a private Redis.
 *
 *   npm run bench                 three rounds each, some minutes
 *   npm run bench -- --quick      the same with fewer jobs, in less than a minute
 *   npm run bench -- --json       the figures of every round as JSON
 */
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { RedisServer } from '../test/support/redis-server.ts';
import { summarize, toText } from './report.mjs';

const CONTENDERS = ['gearmonkey', 'bullmq', 'bee-queue'];
const ROUNDS = 3;

const { values: asked } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'boolean' } } });
const size = asked.quick ? 'quick' : 'full';

install();
const server = await RedisServer.start();
try {
  const summary = summarize({ rounds: await runRounds(), size, redisVersion: await redisVersion() });
  console.log(asked.json ? JSON.stringify(summary, null, 2) : `\n${toText(summary)}`);
} finally {
  await server.stop();
}

/** The contenders' packages are nobody's dependencies but the benchmark's. */
function install() {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  if (['bullmq', 'bee-queue'].every((name) => existsSync(`${folder}node_modules/${name}`))) return;
  console.error('bench: installing bullmq and bee-queue into bench/node_modules');
  const install = ['install', '--no-package-lock', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', install, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm could not install what the benchmark compares with; see above.');
}

/** Alternating, so that a slow minute of the host hits all of them. */
async function runRounds() {
  const rounds = [];
  for (let round = 1; round <= ROUNDS; round++) {
    for (const contender of CONTENDERS) {
      console.error(`bench: round ${round} of ${ROUNDS}, ${contender}`);
      rounds.push(await runRound(contender));
    }
  }
  return rounds;
}

async function runRound(contender) {
  const script = fileURLToPath(new URL('./round.mjs', import.meta.url));
  const child = fork(script, [contender, size, server.url], { execArgv: [] });
  const ended = once(child, 'exit');
  const [result] = await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => Promise.reject(new Error(`The round of ${contender} ended with ${code}.`))),
  ]);
  await ended;
  return result;
}

async function redisVersion() {
  const redis = new Redis(server.url);
  const info = await redis.info('server');
  redis.disconnect();
  return /^redis_version:(\S+)/m.exec(info)[1];
}
