import type { JobErrorInfo } from '../job/errors.js';
import { printable } from '../job/printable.js';

const MAX_LINES = 40;
const MAX_LINE = 300;

/** An error of ours says all in its message: where it was made is not where the mistake is. */
const NO_STACK: ReadonlySet<string | undefined> = new Set(['JOB_TIMEOUT', 'JOB_CANCELLED', 'SHUTDOWN']);

/** Where an error and its causes were thrown, each line indented. Messages come from outside: they begin no line. */
export function stackLines(error: JobErrorInfo): string {
  if (NO_STACK.has(error.code)) return '';
  const lines = framesOf(error);
  if (lines.length === 0) return '';
  for (let { cause } = error; cause; cause = cause.cause) {
    lines.push(`    caused by ${cause.name}: ${cause.message}`, ...framesOf(cause));
  }
  return lines
    .slice(0, MAX_LINES)
    .map((line) => printable(line.slice(0, MAX_LINE).toWellFormed()))
    .join('\n');
}

function framesOf({ stack = '' }: JobErrorInfo): string[] {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.map((line) => `    ${line.trim()}`);
}
