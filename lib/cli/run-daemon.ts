import { messageOf } from '../job/errors.js';
import { ConfigError } from '../jobd/vocabulary/errors.js';
import type { Program } from '../jobd/program/program.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Runs a program until SIGTERM or SIGINT; a second one hurries its end. What keeps it from starting goes to stderr, and the exit code is 1. */
export async function runDaemon(start: () => Promise<Program>): Promise<void> {
  // Whoever read the console may leave; that ends no daemon.
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
    fail(error);
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
