import { messageOf } from '../job/errors.js';
import { printable } from '../job/printable.js';

/** The values of a line, for programs. Texts are as short and printable as the line; only a `stack` has several lines. */
export type LogFields = Readonly<Record<string, unknown>>;

type Write = (message: string, fields?: LogFields) => void;

/** Where a worker writes its log lines. */
export interface WorkerLog {
  readonly warn: Write;
  readonly error: Write;
  /** Recoveries and other normal events. @default `warn` */
  readonly log?: Write;
  /** Details for debugging. @default nowhere */
  readonly debug?: Write;
  /** Whether `debug` is written anywhere: otherwise its lines need not be made. @default true if there is a `debug` */
  readonly isDebugging?: () => boolean;
}

/** Those that `inLines` made: it has nothing to do for them. */
const made = new WeakSet<object>();

/**
 * Wraps a log so that each message stays on one line: names, ids and messages come from outside. A log that throws, such
 * as one whose disk is full, does not stop jobs: the process is warned, once.
 */
export function inLines(log: WorkerLog): Required<WorkerLog> {
  if (made.has(log)) return log as Required<WorkerLog>;
  let hasFailed = false;
  const failed = (error: unknown) => {
    if (!hasFailed)
      process.emitWarning(
        `The logger of nestjs-gearmonkey threw, and lines are missing: ${messageOf(error)}`,
      );
    hasFailed = true;
  };
  const write = (level: 'warn' | 'error' | 'log' | 'debug'): Write => {
    return (message, fields) => {
      const safe = fields && (printableIn(fields) as LogFields);
      try {
        log[level]?.(printable(message), ...(safe ? [safe] : []));
      } catch (error) {
        failed(error);
      }
    };
  };
  const lines = {
    warn: write('warn'),
    error: write('error'),
    log: write(log.log ? 'log' : 'warn'),
    debug: write('debug'),
    isDebugging: () => log.debug !== undefined && (log.isDebugging?.() ?? true),
  };
  made.add(lines);
  return lines;
}

function printableIn(value: unknown, key?: string): unknown {
  if (typeof value === 'string') return key === 'stack' ? lineByLine(value) : printable(value);
  if (Array.isArray(value)) return value.map((item) => printableIn(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, printableIn(item, name)]));
}

function lineByLine(stack: string): string {
  return stack.split('\n').map(printable).join('\n');
}
