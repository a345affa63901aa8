import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { RedisServer } from '../../support/redis-server.js';
import { TYPESCRIPT } from '../../support/test-process.js';
import { runLoad } from './load.js';

const DEFAULT_JOBS = 100_000;
const SEED = 6;
const PATIENCE_MS = 30 * 60 * 1000;
const MASTERS = 2;

/** `npm run check -- jq-load [JOBS]`: the load of the test suite in full, with masters in processes of their own. */
async function main(): Promise<void> {
  const jobs = Number(process.argv[2] ?? DEFAULT_JOBS);
  const server = await RedisServer.start();
  const redis = new Redis(server.url);
  const masters: ChildProcess[] = [];
  try {
    const urls = await Promise.all(Array.from({ length: MASTERS }, () => startMaster(server.url, masters)));
    const { violations, seconds, most } = await runLoad({
      urls,
      redis,
      jobs,
      seed: SEED,
      patience: PATIENCE_MS,
    });
    const rate = Math.round(jobs / seconds);
    console.log(`${jobs} jobs, ${MASTERS} masters, 50 workers: ${seconds.toFixed(1)} s, ${rate} jobs/s`);
    console.log(`most at a time: ${JSON.stringify(most)}`);
    console.log(violations.length === 0 ? 'no limit was exceeded' : violations.slice(0, 20).join('\n'));
    process.exitCode = violations.length === 0 ? 0 : 1;
  } finally {
    for (const master of masters) master.kill('SIGKILL');
    redis.disconnect();
    await server.stop();
  }
}

async function startMaster(connection: string, masters: ChildProcess[]): Promise<string> {
  const program = fileURLToPath(new URL('./master.ts', import.meta.url));
  const options = JSON.stringify({ connection, port: 0, pushTimeout: '1m' });
  const master = spawn(process.execPath, [...TYPESCRIPT, program, options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  masters.push(master);
  const [line] = (await once(master.stdout, 'data')) as [Buffer];
  return line.toString().trim();
}

await main();
