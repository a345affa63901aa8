import { HttpException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';

/** What `getType()` of a handler's execution context says. */
export const JOB_CONTEXT = 'gearmonkey';

interface ExceptionsHandler {
  next(error: Error, host: ArgumentsHost): Promise<unknown>;
  invokeCustomFilters(error: Error, host: ArgumentsHost): unknown;
}

interface FiltersContext {
  create(...args: never[]): ExceptionsHandler;
}

/**
 * The same filters, with what a job wants of them: an error that none of them answers stays what it was.
 * Nest would print each with its stack; a worker's own line tells of it.
 */
export function leaveErrors<T extends FiltersContext>(filters: T): T {
  const create = (...args: never[]): ExceptionsHandler => {
    const handler = filters.create(...args);
    const next = async (error: Error, host: ArgumentsHost): Promise<unknown> => {
      try {
        const answer = await handler.invokeCustomFilters(error, withoutResponse(host, error));
        if (answer !== undefined && answer !== null) return answer;
      } catch (thrown) {
        throw withDetails(thrown);
      }
      throw withDetails(error);
    };
    return Object.create(handler, { next: { value: next } }) as ExceptionsHandler;
  };
  return Object.create(filters, { create: { value: create } }) as T;
}

/** Who would answer an HTTP request asks for its response: there is none, and the error goes on. */
function withoutResponse(host: ArgumentsHost, error: Error): ArgumentsHost {
  const getResponse = (): never => {
    throw error;
  };
  const switchToHttp = () => ({ ...host.switchToHttp(), getResponse });
  return Object.create(host, { switchToHttp: { value: switchToHttp } }) as ArgumentsHost;
}

/** A ValidationPipe tells only in the response what it found. */
function withDetails(thrown: unknown): unknown {
  if (!(thrown instanceof HttpException)) return thrown;
  const { message } = thrown.getResponse() as { message?: unknown };
  if (typeof message !== 'object' || message === null) return thrown;
  const details = Array.isArray(message) ? message.join('; ') : JSON.stringify(message);
  if (!thrown.message.endsWith(details)) thrown.message += `: ${details}`;
  return thrown;
}

const answerRequest = BaseExceptionFilter.prototype.catch;

/** Filters that extend Nest's end in `super.catch`, which answers requests: with a job as the response it would fail. */
BaseExceptionFilter.prototype.catch = function (exception, host) {
  if (host.getType<string>() === JOB_CONTEXT) throw exception;
  answerRequest.call(this, exception, host);
};
