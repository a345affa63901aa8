import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { UsageError } from './usage-error.js';

const PROMPT = 'Enter password: ';

/** Asks for a password: without an echo on a terminal, else from the first line of stdin. The prompt goes to stderr. */
export async function promptPassword(
  input: NodeJS.ReadStream = process.stdin,
  terminal: NodeJS.WriteStream = process.stderr,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // With a separate output for the echo, readline does not echo on the terminal.
  const lines = createInterface({ input, output: nowhere, terminal: input.isTTY === true });
  // Only once the echo is off, so that nothing typed early is shown.
  terminal.write(PROMPT);
  try {
    const ended = once(lines, 'close').then(() => undefined);
    const interrupted = once(lines, 'SIGINT').then(() => undefined);
    const line = await Promise.race([once(lines, 'line'), ended, interrupted]);
    if (!line) throw new UsageError('no password was given');
    return String(line[0]);
  } finally {
    lines.close();
    input.pause();
    terminal.write('\n');
  }
}
