import { setTimeout as delay } from 'node:timers/promises';

const WINDOW_MS = 50;
const WINDOWS = 3;
const RESTING_CPU_SHARE = 0.1;
const MAX_WAIT_MS = 3000;

/**
 * A worker whose handlers hold the jobs they were given until `release`: what starting costs, such as threads and
 * connections, belongs to no job. Resolves when the process has come to rest.
 *
 * @param onHandled called for each job, after the release
 */
export async function startHeld(queue, concurrency, onHandled) {
  let held = true;
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const stop = await queue.work(concurrency, async () => {
    if (held) await released;
    onHandled();
    return true;
  });
  await comeToRest();
  return {
    release: () => {
      held = false;
      release();
    },
    stop,
  };
}

/** Until the process has used next to no CPU for a while; on a machine that starves it, for long enough. */
async function comeToRest() {
  const until = performance.now() + MAX_WAIT_MS;
  for (let resting = 0; resting < WINDOWS && performance.now() < until;) {
    const before = process.cpuUsage();
    await delay(WINDOW_MS);
    const { user, system } = process.cpuUsage(before);
    resting = (user + system) / 1000 < WINDOW_MS * RESTING_CPU_SHARE ? resting + 1 : 0;
  }
}
