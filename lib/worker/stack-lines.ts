import type { JobErrorInfo } from '../job/errors.js';
import { printable } from '../job/printable.js';

const MAX_LINES = 40;
const MAX_LINE = 300;

/** Errors of this package whose stack does not help: the message has all information. */
const NO_STACK: ReadonlySet<string | undefined> = new Set(['JOB_TIMEOUT', 'JOB_CANCELLED', 'SHUTDOWN']);

/** Stack lines of an error and its causes, indented, so that text from outside never begins a line. */
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
