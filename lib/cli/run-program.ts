import { messageOf } from '../job/errors.js';
import { ConfigError } from '../jobd/vocabulary/errors.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** A program that runs until `stop`. */
export interface RunningProgram {
  /** Stops gracefully; a second call stops at once. */
  stop(): Promise<void>;
}

/**
 * Runs a program until SIGTERM or SIGINT, then drains it; a second signal ends it at once. An error at the start is
 * written to stderr, and the exit code is 1.
 */
export async function runProgram(
  start: () => Promise<RunningProgram>,
  failWith: (error: unknown) => never = fail,
): Promise<void> {
  // The reader of stdout or stderr may be gone, or a disk full: the program continues.
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

/** A log file handles SIGHUP by reopening itself. Without one, SIGHUP stops the program gracefully. */
function endUnlessReopened(): void {
  if (process.listenerCount('SIGHUP') === 1) process.emit('SIGTERM');
}

/** Writes the error to stderr and exits with 1. */
export function fail(error: unknown): never {
  const what = error instanceof ConfigError ? 'config parsing error: ' : '';
  process.stderr.write(`${what}${messageOf(error)}\n`);
  process.exit(1);
}
