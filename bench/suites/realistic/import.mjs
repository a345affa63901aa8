import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./import-program.mjs', import.meta.url));
const TIMES = 5;

/** Measures how long processes take to import what an app does; the quickest of some: others read the same files meanwhile. */
export async function imports({ contender, jobs }) {
  const taken = [];
  for (let left = jobs(TIMES, 1); left > 0; left--) {
    const child = fork(PROGRAM, [JSON.stringify({ contender })], { execArgv: [] });
    const [milliseconds] = await once(child, 'message');
    taken.push(milliseconds);
    if (child.exitCode === null) await once(child, 'exit');
  }
  return { nestImport: Math.min(...taken) };
}
