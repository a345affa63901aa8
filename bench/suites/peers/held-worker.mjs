import { setTimeout as delay } from 'node:timers/promises';

const WINDOW_MS = 50;
const WINDOWS = 3;
const RESTING_CPU_SHARE = 0.1;
const MAX_WAIT_MS = 3000;

/**
 * A worker whose handlers hold their jobs until `release`. The cost of starting, such as threads and connections, is then
 * not counted for any job. Resolves when the process is idle.
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

/** Waits until the process has used almost no CPU for a while, but not forever on a busy machine. */
async function comeToRest() {
  const until = performance.now() + MAX_WAIT_MS;
  for (let resting = 0; resting < WINDOWS && performance.now() < until;) {
    const before = process.cpuUsage();
    await delay(WINDOW_MS);
    const { user, system } = process.cpuUsage(before);
    resting = (user + system) / 1000 < WINDOW_MS * RESTING_CPU_SHARE ? resting + 1 : 0;
  }
}
