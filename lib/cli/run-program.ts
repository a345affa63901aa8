import { messageOf } from '../job/errors.js';
import { ConfigError } from '../jobd/vocabulary/errors.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** What runs until it is told to stop. */
export interface RunningProgram {
  /** Ends what it does in good order; called again, at once. */
  stop(): Promise<void>;
}

/**
 * Runs a program until SIGTERM or SIGINT, and then drains it; a second signal ends it at once. What keeps it from
 * starting goes to stderr, and the exit code is 1.
 */
export async function runProgram(
  start: () => Promise<RunningProgram>,
  failWith: (error: unknown) => never = fail,
): Promise<void> {
  // The reader of its output may be gone, or a disk full; that ends no program.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stopped = new Promise<void>((resolve) => {
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
  });
  process.on('SIGHUP', endUnlessReopened);
  try {
    const program = await start();
    await stopped;
    const stopping = program.stop();
    for (const signal of STOP_SIGNALS) process.on(signal, () => void program.stop());
    await stopping;
    process.exit(0);
  } catch (error) {
    failWith(error);
  }
}

/** Without a log file, which listens to open itself anew, SIGHUP means what it does to others: the end, in good order. */
function endUnlessReopened(): void {
  if (process.listenerCount('SIGHUP') === 1) process.emit('SIGTERM');
}

/** Says why on stderr, and exits with 1. */
export function fail(error: unknown): never {
  const what = error instanceof ConfigError ? 'config parsing error: ' : '';
  process.stderr.write(`${what}${messageOf(error)}\n`);
  process.exit(1);
}
