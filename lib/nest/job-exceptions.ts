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
  getFilterInstance(...args: never[]): object | null;
}

/**
 * The same filters, with what a job wants of them: an error that none of them answers stays what it was.
 * Nest would print each with its stack; a worker's own line tells of it.
 */
export function leaveErrors<T extends FiltersContext>(filters: T): T {
  const getFilterInstance = function (this: T, ...args: never[]): object | null {
    const filter = filters.getFilterInstance.apply(this, args);
    if (filter) teachJobs(filter);
    return filter;
  };
  const taughtFilters = Object.create(filters, { getFilterInstance: { value: getFilterInstance } }) as T;
  const create = (...args: never[]): ExceptionsHandler => {
    const handler = taughtFilters.create(...args);
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

/** Base filters that know jobs by now: of each copy of Nest that an app has there is one. */
const taught = new WeakSet<object>();

/**
 * A filter that extends Nest's own ends in `super.catch`, which answers requests: with a job as the response it would
 * fail. A class can't be told from outside what `super` is, so the method itself throws on what a job threw. It is
 * replaced once, in an app whose handlers have such a filter, and does for anything else what it did before.
 */
function teachJobs(filter: object): void {
  const base = baseOf(filter);
  if (!base || taught.has(base)) return;
  taught.add(base);
  const answerRequest = base.catch;
  base.catch = function (exception, host) {
    if (host.getType?.<string>() === JOB_CONTEXT) throw exception;
    return answerRequest.call(this, exception, host);
  };
}

/** What Nest's own filter gives to those that extend it: the last of its name, should an app call one of its own so. */
function baseOf(filter: object): BaseExceptionFilter | undefined {
  let base: BaseExceptionFilter | undefined;
  for (let part: object | null = filter; part; part = Object.getPrototypeOf(part) as object | null) {
    const isNests = part.constructor.name === BaseExceptionFilter.name && 'handleUnknownError' in part;
    if (isNests && Object.hasOwn(part, 'catch')) base = part as BaseExceptionFilter;
  }
  return base;
}
