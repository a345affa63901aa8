import {
  Catch,
  Inject,
  Logger,
  UnauthorizedException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { stackOf } from '../job/error-info.js';
import { GearMonkeyError } from '../job/errors.js';
import { answerTo } from './answers.js';
import { audit, ThrottledAudit } from './audit.js';
import { isWithoutUser, refusalEvent } from './audited.js';
import type { ApiError } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { CheckedDashboard } from './dashboard.options.js';
import { refusal } from './refusal.js';
import { rawRequest, rawResponse } from './request-facts.js';

const log = new Logger('Dashboard');

/** Answers errors of the dashboard with `{ code, message }`. Those of the app's own guards go to the app's filters. */
@Catch(ApiFailure)
export class ApiFilter implements ExceptionFilter<ApiFailure> {
  private readonly unknown = new ThrottledAudit();

  constructor(@Inject(HttpAdapterHost) private readonly adapters: HttpAdapterHost) {}

  catch(failure: ApiFailure, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const refused = refusalEvent(http.getRequest<object>(), failure);
    if (refused && isWithoutUser(failure)) this.unknown.tell(refused);
    else if (refused) audit(refused);
    const { status, code, message, headers } = failure;
    const response = http.getResponse<object>();
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

/** What is answered to an error. One that is not expected is logged. */
export function failureOf(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const [status, { code, message }] = answerTo(error);
  if (status >= 500 && !(error instanceof GearMonkeyError)) log.error(stackOf(error));
  return new ApiFailure(status, code, message);
}
