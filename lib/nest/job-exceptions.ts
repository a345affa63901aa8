import { HttpException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { giveBackOthers } from '../worker/batch-collector.js';
import { RunningJob } from '../worker/running-job.js';

/** What `getType()` of a handler's execution context returns. */
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
 * Adapts exception filters to jobs: an error that no filter handles is thrown on unchanged. Nest would log it with its
 * stack, but the worker logs it already.
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
      const jobs = host.getArgByIndex<RunningJob | readonly RunningJob[]>(1);
      // What a guard of a batch lets through.
      if (!(jobs instanceof RunningJob)) giveBackOthers(jobs, error);
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

/** A filter that answers HTTP requests asks for the response: a job has none, so the error is thrown on. */
function withoutResponse(host: ArgumentsHost, error: Error): ArgumentsHost {
  const getResponse = (): never => {
    throw error;
  };
  const switchToHttp = () => ({ ...host.switchToHttp(), getResponse });
  return Object.create(host, { switchToHttp: { value: switchToHttp } }) as ArgumentsHost;
}

/** Takes the messages of a ValidationPipe from its response: the error's own message does not have them. */
function withDetails(thrown: unknown): unknown {
  if (!(thrown instanceof HttpException)) return thrown;
  try {
    const details = detailsOf(thrown.getResponse());
    if (!thrown.message.endsWith(details)) thrown.message += `: ${details}`;
  } catch {
    // The response may be circular, or the error frozen: then it stays as it is.
  }
  return thrown;
}

function detailsOf(response: unknown): string {
  const message = typeof response === 'object' && response && 'message' in response && response.message;
  if (typeof message !== 'object' || message === null) return '';
  return Array.isArray(message) ? message.join('; ') : JSON.stringify(message);
}

/** Base filters that have been adapted: one for each copy of Nest in the app. */
const taught = new WeakSet<object>();

/**
 * A filter that extends Nest's BaseExceptionFilter may call `super.catch`, which answers requests and would fail for a
 * job. `super` can't be changed from outside, so this replaces the base method once, in apps whose handlers have such a
 * filter: for a job it throws the error on, for everything else it does what it did before.
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

/** Finds Nest's BaseExceptionFilter in the prototype chain: the last class of that name, in case an app has one too. */
function baseOf(filter: object): BaseExceptionFilter | undefined {
  let base: BaseExceptionFilter | undefined;
  for (let part: object | null = filter; part; part = Object.getPrototypeOf(part) as object | null) {
    const isNests = part.constructor.name === BaseExceptionFilter.name && 'handleUnknownError' in part;
    if (isNests && Object.hasOwn(part, 'catch')) base = part as BaseExceptionFilter;
  }
  return base;
}
