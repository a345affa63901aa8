import { openSync, writeSync } from 'node:fs';
import { realNow } from './clock.mjs';

/** Appends lines to a history file: written at once, so that a SIGKILL loses the last at most. */
export function notesTo(path) {
  const file = openSync(path, 'a');
  return (line) => writeSync(file, `${JSON.stringify({ ...line, at: realNow() })}\n`);
}
