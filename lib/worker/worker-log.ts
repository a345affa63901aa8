import { printable } from '../job/printable.js';

/** What a line says, as values for programs. A text among them is as short and printable as the line; a `stack` has lines. */
export type LogFields = Readonly<Record<string, unknown>>;

type Write = (message: string, fields?: LogFields) => void;

/** Where a worker writes its log lines. */
export interface WorkerLog {
  readonly warn: Write;
  readonly error: Write;
  /** Recoveries, and what is no trouble. @default `warn` */
  readonly log?: Write;
  /** What is of use in search of a mistake. @default nowhere */
  readonly debug?: Write;
}

/** The same log, a line each: names, ids and messages come from outside. */
export function inLines(log: WorkerLog): Required<WorkerLog> {
  const write = (level: keyof WorkerLog): Write => {
    return (message, fields) => {
      const safe = fields && (printableIn(fields) as LogFields);
      log[level]?.(printable(message), ...(safe ? [safe] : []));
    };
  };
  return {
    warn: write('warn'),
    error: write('error'),
    log: write(log.log ? 'log' : 'warn'),
    debug: write('debug'),
  };
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
