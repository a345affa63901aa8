import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { RedisUsage } from '../../harness/redis-usage.mjs';

const PROGRAM = fileURLToPath(new URL('./idle-program.mjs', import.meta.url));
const SETTLE_SECONDS = 60;
const MEASURE_SECONDS = 20;
const MEBIBYTE = 1024 ** 2;

/**
 * Measures a process that starts a worker of some functions, and then has nothing to do.
 *
 * @param {any} round
 * @param {number} functions
 */
export async function idle({ contender, addresses: { redis: url }, jobs }, functions) {
  const usage = new RedisUsage(url);
  await usage.flush();
  const [settleMs, measureMs] = [jobs(SETTLE_SECONDS, 1) * 1000, jobs(MEASURE_SECONDS, 1) * 1000];
  const task = JSON.stringify({ contender, url, functions, settleMs, measureMs });
  const child = fork(PROGRAM, [task], { execArgv: [] });
  try {
    await once(child, 'message');
    const before = await usage.calls();
    const [figures] = await once(child, 'message');
    // Those of this program itself.
    const own = 1;
    const commands = total(await usage.calls()) - total(before) - own;
    return {
      [`import${functions}`]: figures.imported,
      [`ready${functions}`]: figures.ready,
      [`idleCpu${functions}`]: figures.cpu,
      [`idleCommands${functions}`]: (commands * 1000) / measureMs,
      [`rss${functions}`]: figures.rss / MEBIBYTE,
    };
  } finally {
    if (child.exitCode === null) await once(child, 'exit');
    usage.close();
  }
}

function total(calls) {
  return [...calls.values()].reduce((sum, count) => sum + count, 0);
}
