import assert from 'node:assert/strict';
import type { GearMonkeyClient } from 'nestjs-gearmonkey';
import { Program } from '../support/worker-process.js';
import { until } from '../support/until.js';
import type { UsedRedis } from '../support/use-redis.js';
import type { AppOptions } from './app.js';

const LEASE_MS = 2000;
const NAP_MS = 1500;

export interface RunApp {
  /** The app as it is to be run. */
  readonly file: string;
  readonly cwd: string;
  /** @default the Node of the test */
  readonly node?: string;
  readonly nodeOptions?: readonly string[];
}

/**
 * Runs the app of app.ts as three processes one after another: a job fails, a job holds the event loop for longer
 * than its lease, SIGTERM ends a process with a job, SIGKILL another.
 *
 * @param jobs a client without workers on that Redis
 * @param redis where nothing else runs
 * @throws AssertionError when a job is lost, run twice or fails otherwise than it should
 */
export async function outlivesKills(
  { file, nodeOptions, ...process }: RunApp,
  jobs: GearMonkeyClient,
  redis: UsedRedis,
): Promise<void> {
  const prefix = redis.fn('bundled');
  const options: AppOptions = { url: redis.url, prefix, lease: LEASE_MS };
  const start = () => Program.start(file, options, nodeOptions, process);

  const first = await start();
  assert.deepEqual(first.all('ready'), [{ event: 'ready', qless: true }]);
  // A job that blocks before the thread has connected would lose its lease.
  await until(async () => String(await redis.redis.client('LIST')).includes('nestjs-gearmonkey:keeper'));
  const failing = await jobs.run(`${prefix}-fail`, null);
  await assert.rejects(failing.result(), /running fails/);
  const failed = await jobs.get(`${prefix}-fail`, failing.id);
  assert.equal(failed?.attempts, 1);
  assert.equal(failed?.error?.name, 'UnrecoverableError');

  // The second would be given the job if the lease of the first ended.
  const blocking = await jobs.run(`${prefix}-block`, 3 * LEASE_MS);
  await first.says('blocks');
  const second = await start();
  assert.equal(await blocking.result(), first.pid);
  assert.equal((await jobs.get(`${prefix}-block`, blocking.id))?.attempts, 1);

  const naps = await jobs.runMany(`${prefix}-nap`, [NAP_MS, NAP_MS]);
  await Promise.all([first.says('naps'), second.says('naps')]);
  first.signal('SIGTERM');
  await second.kill();
  await first.ended();
  const third = await start();
  const ran = await Promise.all(naps.map((nap) => nap.result()));
  assert.deepEqual(new Set(ran), new Set([first.pid, third.pid]));
  assert.deepEqual(third.all('naps'), [{ event: 'naps', attempts: 2 }]);
  assert.doesNotMatch([first, second, third].map(({ stderr }) => stderr).join(''), /thread failed/);
  await third.kill('SIGTERM');
}
