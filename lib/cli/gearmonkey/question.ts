import { createInterface } from 'node:readline/promises';

/** Whether there is a terminal for question and answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on stderr; anything but yes, a signal and the end of the input too, means no. */
export async function isConfirmed(question: string, signal: AbortSignal): Promise<boolean> {
  // Without `terminal` ctrl-c remains a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), closed]);
    return /^\s*y(es)?\s*$/i.test(answer);
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
