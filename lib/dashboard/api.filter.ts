import {
  Catch,
  HttpException,
  Inject,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { GearMonkeyError } from '../job/errors.js';
import { excerpt } from '../job/secrets.js';
import { httpStatusOf } from '../nest/http-status.js';
import type { ApiError } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import { rawResponse } from './request-facts.js';

const MAX_MESSAGE = 1000;

/** Answers with `{ code, message }`, whatever the app's own filters do. */
@Catch()
export class ApiFilter implements ExceptionFilter {
  private readonly log = new Logger('Dashboard');

  constructor(@Inject(HttpAdapterHost) private readonly adapters: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<object>();
    if (rawResponse(response).headersSent) return;
    if (error instanceof ApiFailure)
      for (const [name, value] of Object.entries(error.headers)) rawResponse(response).setHeader(name, value);
    const [status, body] = answerTo(error);
    if (status >= 500 && !(error instanceof GearMonkeyError)) this.log.error(error);
    this.adapters.httpAdapter.reply(response, body, status);
  }
}

/** The status and body for an error. */
export function answerTo(error: unknown): [number, ApiError] {
  if (error instanceof ApiFailure) return [error.status, { code: error.code, message: error.message }];
  if (error instanceof GearMonkeyError)
    return [httpStatusOf(error) ?? 500, { code: error.code, message: excerpt(error.message, MAX_MESSAGE) }];
  if (error instanceof HttpException)
    return [error.getStatus(), { code: 'HTTP', message: excerpt(error.message, MAX_MESSAGE) }];
  return [500, { code: 'INTERNAL', message: 'The server could not answer. Its log says why.' }];
}
