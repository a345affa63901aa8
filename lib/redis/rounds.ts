/** Of real time, also when a test of the app has faked timers since. */
const { setInterval, clearInterval } = globalThis;

/** How far rounds are apart, in milliseconds. */
export const ROUND_MS = 1000;

interface Task {
  readonly run: () => void;
  /** Each how many rounds it runs. */
  readonly each: number;
  /** How many rounds are left until it runs. */
  left: number;
}

const tasks = new Set<Task>();
let rounds: NodeJS.Timeout | undefined;

/**
 * Runs a task each so many milliseconds, the first time perhaps sooner, and keeps no process alive for it. Tasks of whole
 * seconds run together, in rounds: to be woken costs a process that has nothing else to do more than the tasks do.
 *
 * @returns a function that ends it
 */
export function repeat(ms: number, run: () => void): () => void {
  if (ms % ROUND_MS !== 0) {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  }
  const task = { run, each: ms / ROUND_MS, left: ms / ROUND_MS };
  tasks.add(task);
  rounds ??= setInterval(runRound, ROUND_MS).unref();
  return () => {
    tasks.delete(task);
    if (tasks.size > 0) return;
    clearInterval(rounds);
    rounds = undefined;
  };
}

function runRound(): void {
  for (const task of Array.from(tasks)) {
    task.left -= 1;
    if (task.left > 0 || !tasks.has(task)) continue;
    task.left = task.each;
    task.run();
  }
}
