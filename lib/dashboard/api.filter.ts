import {
  Catch,
  HttpException,
  Inject,
  Injectable,
  Logger,
  UnauthorizedException,
  type ArgumentsHost,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { catchError, type Observable } from 'rxjs';
import { GearMonkeyError } from '../job/errors.js';
import { excerpt } from '../job/secrets.js';
import { httpStatusOf } from '../nest/http-status.js';
import type { ApiError } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { CheckedDashboard } from './dashboard.options.js';
import { refusal } from './refusal.js';
import { rawRequest, rawResponse } from './request-facts.js';

const MAX_MESSAGE = 1000;
const log = new Logger('Dashboard');

/** Answers errors of the dashboard with `{ code, message }`. Those of the app's own guards go to the app's filters. */
@Catch(ApiFailure)
export class ApiFilter implements ExceptionFilter<ApiFailure> {
  constructor(@Inject(HttpAdapterHost) private readonly adapters: HttpAdapterHost) {}

  catch({ status, code, message, headers }: ApiFailure, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<object>();
    const raw = rawResponse(response);
    if (raw.headersSent) return;
    for (const [name, value] of Object.entries(headers)) raw.setHeader(name, value);
    this.adapters.httpAdapter.reply(response, { code, message } satisfies ApiError, status);
  }
}

/** With `login`: whom a guard of the app refuses gets there as well. */
@Catch(UnauthorizedException)
export class LoginFilter implements ExceptionFilter<UnauthorizedException> {
  constructor(
    private readonly options: CheckedDashboard,
    private readonly answers: ApiFilter,
  ) {}

  catch(_: UnauthorizedException, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<object>();
    this.answers.catch(refusal(this.options, rawRequest(request)), host);
  }
}

/** Makes every error of the routes one of the dashboard, which its filter answers, whatever filters the app has. */
@Injectable()
export class ApiErrors implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        throw failureOf(error);
      }),
    );
  }
}

/** What is answered to an error. One that is not expected is logged. */
export function failureOf(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const [status, { code, message }] = answerTo(error);
  if (status >= 500 && !(error instanceof GearMonkeyError)) log.error(error);
  return new ApiFailure(status, code, message);
}

/** The status and body for an error. */
export function answerTo(error: unknown): [number, ApiError] {
  if (error instanceof ApiFailure) return [error.status, { code: error.code, message: error.message }];
  if (error instanceof GearMonkeyError)
    return [httpStatusOf(error) ?? 500, { code: error.code, message: excerpt(said(error), MAX_MESSAGE) }];
  if (error instanceof HttpException)
    return [error.getStatus(), { code: 'HTTP', message: excerpt(error.message, MAX_MESSAGE) }];
  return [500, { code: 'INTERNAL', message: 'The server could not answer. Its log says why.' }];
}

/** Those who operate an app can't change its code: without what it says to those who can. */
function said({ message }: GearMonkeyError): string {
  return message.replace(/ Check that (?:it|the server) is up\b.*$/s, '');
}
