import { messageOf } from '../job/errors.js';
import { ConfigError } from '../jobd/errors.js';
import type { Program } from '../jobd/program/program.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Runs a program until SIGTERM or SIGINT; a second one hurries its end. What keeps it from starting goes to stderr, and the exit code is 1. */
export async function runDaemon(start: () => Promise<Program>): Promise<void> {
  // Whoever read the console may leave; that ends no daemon.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stopped = new Promise<void>((resolve) => {
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
  });
  try {
    const program = await start();
    // Without a log file to be opened anew it means what it does to others: the end, in good order.
    if (process.listenerCount('SIGHUP') === 0) process.once('SIGHUP', () => process.emit('SIGTERM'));
    await stopped;
    const stopping = program.stop();
    for (const signal of STOP_SIGNALS) process.on(signal, () => void program.stop());
    await stopping;
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

/** Says why on stderr, and exits with 1. */
export function fail(error: unknown): never {
  const what = error instanceof ConfigError ? 'config parsing error: ' : '';
  process.stderr.write(`${what}${messageOf(error)}\n`);
  process.exit(1);
}
