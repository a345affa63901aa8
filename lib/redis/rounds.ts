/** Of real time, also when a test of the app has faked timers since. */
const { setInterval, clearInterval, setTimeout, clearTimeout, performance } = globalThis;

/** How far rounds are apart, in milliseconds. */
export const ROUND_MS = 1000;
/** A timer may fire so much too early. */
const EARLY_MS = 5;

interface Task {
  readonly ms: number;
  readonly run: () => void;
  due: number;
}

const tasks = new Set<Task>();
let rounds: NodeJS.Timeout | undefined;

/**
 * Runs a task each so many milliseconds, and keeps no process alive for it. Tasks of whole seconds run together, in rounds,
 * and the first time up to a second late: to be woken costs a process that has nothing else to do more than the tasks do.
 *
 * @param isPunctual the first time is not late, and the second one may be early
 * @returns a function that ends it
 */
export function repeat(ms: number, run: () => void, isPunctual = false): () => void {
  if (ms % ROUND_MS !== 0) {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  }
  const task = { ms, run, due: performance.now() + ms };
  // The next time is with the next round.
  const first = isPunctual ? setTimeout(() => runTask(task, performance.now() - ms), ms).unref() : undefined;
  tasks.add(task);
  rounds ??= setInterval(runRound, ROUND_MS).unref();
  return () => {
    clearTimeout(first);
    tasks.delete(task);
    if (tasks.size > 0) return;
    clearInterval(rounds);
    rounds = undefined;
  };
}

function runRound(): void {
  const now = performance.now();
  for (const task of Array.from(tasks)) {
    if (now < task.due - EARLY_MS || !tasks.has(task)) continue;
    runTask(task, now);
  }
}

function runTask(task: Task, now: number): void {
  task.due = now + task.ms;
  task.run();
}
