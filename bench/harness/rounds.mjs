import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FROM_SOURCES } from './suite.mjs';

const PROGRAM = fileURLToPath(new URL('./round.mjs', import.meta.url));
const ROUND_TIMEOUT_MS = 180_000;

/**
 * The contenders alternate within each measurement, so a slow minute of the host affects all of them. Each round begins
 * with another one, so none always runs after the same.
 *
 * @returns figures of each round by measurement and contender
 */
export async function runRounds({ suite, measurements, rounds, scale, addresses, note }) {
  const results = new Map();
  for (const measurement of measurements) {
    const contenders = measurement.contenders ?? suite.contenders.map(({ key }) => key);
    const figures = new Map(contenders.map((contender) => [contender, []]));
    for (let round = 0; round < rounds; round++) {
      for (const contender of rotated(contenders, round)) {
        note(`${measurement.name}, round ${round + 1} of ${rounds}, ${contender}`);
        const task = { suite: suite.name, measurement: measurement.name, contender, addresses, scale };
        figures.get(contender).push(checked(await runRound(task, suite.fromSources), measurement, task));
      }
    }
    results.set(measurement.name, figures);
  }
  return results;
}

function rotated(list, by) {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

async function runRound(task, fromSources = false) {
  // Without the TypeScript loader, if possible: measurements run on plain Node.
  const execArgv = fromSources ? FROM_SOURCES : [];
  /** @type {import('node:child_process').ForkOptions} */
  const options = { execArgv, timeout: ROUND_TIMEOUT_MS, killSignal: 'SIGKILL' };
  const child = fork(PROGRAM, [JSON.stringify(task)], options);
  let figures;
  child.once('message', (message) => (figures = message));
  const [code, signal] = await once(child, 'exit');
  if (figures) return figures;
  throw new Error(`${task.measurement} of ${task.contender} ended with ${signal ?? code}; see above.`);
}

function checked(figures, { rows }, { measurement, contender }) {
  for (const { key } of rows) {
    const figure = figures[key];
    if (figure === null || Number.isFinite(figure)) continue;
    throw new Error(`${measurement} of ${contender} gave ${figure} for ${key}; expected a number or null.`);
  }
  return figures;
}
