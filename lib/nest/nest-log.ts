import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import { inspect } from 'node:util';
import { inLines, type LogFields, type WorkerLog } from '../worker/worker-log.js';

/** The app's log. Loggers with fields (Nest's JSON logger, nestjs-pino) get the values of a line as fields. */
export function nestLog(context: string): Required<WorkerLog> {
  const logger = new FieldLogger(context);
  const write = (level: Level) => (message: string, fields?: LogFields) =>
    logger[level](fields ? new LogLine(message, fields) : message);
  return inLines({
    log: write('log'),
    warn: write('warn'),
    error: write('error'),
    debug: write('debug'),
    isDebugging: () => Logger.isLevelEnabled('debug'),
  });
}

type Level = 'log' | 'warn' | 'error' | 'debug';

/** A line that prints as text and has its fields as properties, for loggers that print or serialize unknown objects. */
class LogLine {
  readonly #text: string;
  readonly #fields: LogFields;

  constructor(text: string, fields: LogFields) {
    this.#text = text;
    this.#fields = fields;
    Object.assign(this, fields);
  }

  get message(): string {
    return this.#text;
  }

  get fields(): LogFields {
    return this.#fields;
  }

  toString(): string {
    const { error } = this.#fields as { error?: { stack?: string } };
    return error?.stack ? `${this.#text}\n${error.stack}` : this.#text;
  }

  toJSON(): LogFields {
    return { message: this.#text, ...this.#fields };
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** Finds the app's logger only when it writes a line: lines may be buffered until the logger is set. */
class FieldLogger extends Logger {
  override get localInstance(): LoggerService {
    const service: LoggerService | undefined = super.localInstance;
    // With `logger: false` Nest has no logger.
    return service && takingLines(service);
  }
}

function takingLines(service: LoggerService): LoggerService {
  const write =
    (level: Level) =>
    (message: unknown, ...rest: unknown[]) => {
      const parts = message instanceof LogLine ? partsFor(service, message, rest) : [message, ...rest];
      service[level]?.(...(parts as [unknown]));
    };
  return { log: write('log'), warn: write('warn'), error: write('error'), debug: write('debug') };
}

/** Since Nest 12, its loggers accept fields after the message. */
const TAKES_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

/** The arguments for a logger with fields; the last of `rest` is the context. */
function partsFor(service: LoggerService, line: LogLine, rest: readonly unknown[]): unknown[] {
  const { message, fields } = line;
  const context = rest.at(-1);
  if (service instanceof ConsoleLogger) {
    if (!service['options'].json) return [String(line), context];
    return TAKES_FIELDS ? [message, fields, context] : [line.toJSON(), context];
  }
  // nestjs-pino has two loggers: one like Nest's, and one that takes fields before the message, as pino does.
  if ('structuredParams' in service) return [message, fields, context];
  if ('contextName' in service) return [fields, message, context];
  return [line, ...rest];
}
