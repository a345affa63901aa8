import { spawn } from 'node:child_process';
import { median } from '../../harness/statistics.mjs';

export const COMMAND = '/bin/true';

/** Runs a process until its output ends, with the same pipes and process group as a job. */
export function runBare() {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND, ['1'], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', () => undefined);
    child.once('error', reject);
    child.once('close', resolve);
  });
}

/** Measures processes per second. */
export async function bareRate(count, concurrency) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await runBare();
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: concurrency }, lane));
  return (count * 1000) / (performance.now() - started);
}

/** Measures the milliseconds of `count` successive calls. */
export async function medianOf(count, call) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await call(i);
    times.push(performance.now() - started);
  }
  return median(times);
}
