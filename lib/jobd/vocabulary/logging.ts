import { printable } from '../../job/printable.js';
import type { JobdLog } from './log.js';

/** From most to least; `trace`, from the original's files, means `debug`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** A destination for lines from a level up. */
export interface LogSink {
  readonly level: LogLevel;
  write(line: string): void;
}

/** A log that writes to each sink the lines of its level, as `2026-01-31T12:00:00.000Z WARN  [name] message`. */
export function createLog(
  name: string,
  sinks: readonly LogSink[],
  now: () => Date = () => new Date(),
): JobdLog {
  const at = (level: LogLevel) => {
    const rank = LOG_LEVELS.indexOf(level);
    const open = sinks.filter((sink) => LOG_LEVELS.indexOf(sink.level) <= rank);
    return (message: string) => {
      if (open.length === 0) return;
      const line = `${now().toISOString()} ${level.toUpperCase().padEnd(5)} [${name}] ${printable(message)}\n`;
      for (const sink of open) sink.write(line);
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export const SILENT: JobdLog = createLog('', []);
