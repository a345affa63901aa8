import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import { inspect } from 'node:util';
import { inLines, type LogFields, type WorkerLog } from '../worker/worker-log.js';

/** The app's log, in lines whose values are fields where it has any: Nest's JSON logger, nestjs-pino. */
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

/** A line that shows as text, and whose fields are its own: what loggers do with an object that they don't know. */
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

/** Which logger the app has is known when it is written to: lines may be buffered until then. */
class FieldLogger extends Logger {
  override get localInstance(): LoggerService {
    const service: LoggerService | undefined = super.localInstance;
    // Nest has none with `logger: false`.
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

/** Since Nest 12 its loggers take fields behind the message. */
const TAKES_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

/** A line as a logger takes fields; `rest` ends in the context. */
function partsFor(service: LoggerService, line: LogLine, rest: readonly unknown[]): unknown[] {
  const { message, fields } = line;
  const context = rest.at(-1);
  if (service instanceof ConsoleLogger) {
    if (!service['options'].json) return [String(line), context];
    return TAKES_FIELDS ? [message, fields, context] : [line.toJSON(), context];
  }
  // nestjs-pino has two: one in the manner of Nest's, and one that takes fields as pino does, before the message.
  if ('structuredParams' in service) return [message, fields, context];
  if ('contextName' in service) return [fields, message, context];
  return [line, ...rest];
}
