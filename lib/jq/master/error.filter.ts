import {
  Catch,
  HttpException,
  HttpStatus,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import { EngineUnavailableError, KeyReusedError, QueueFullError } from '../engine/engine-errors.js';
import { MalformedMessageError } from '../message-pack/message-pack-errors.js';
import { InvalidFieldError, InvalidParameterError } from '../wire/body-errors.js';
import { CallbackRefusedError } from './callbacks/callback-connector.js';
import type { ErrorBody } from './http-errors.js';
import { UnsupportedMediaTypeError } from './media-type.js';

const RETRY_AFTER_SECONDS = 1;

type ErrorClass = new (...args: never[]) => Error & { readonly code: string };

const STATUSES: readonly (readonly [ErrorClass, HttpStatus])[] = [
  [MalformedMessageError, HttpStatus.BAD_REQUEST],
  [InvalidFieldError, HttpStatus.BAD_REQUEST],
  [InvalidParameterError, HttpStatus.BAD_REQUEST],
  [UnsupportedMediaTypeError, HttpStatus.UNSUPPORTED_MEDIA_TYPE],
  [KeyReusedError, HttpStatus.UNPROCESSABLE_ENTITY],
  [CallbackRefusedError, HttpStatus.FORBIDDEN],
  [QueueFullError, HttpStatus.TOO_MANY_REQUESTS],
  [EngineUnavailableError, HttpStatus.SERVICE_UNAVAILABLE],
];

/** Every error that leaves the master is a map of code and message. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly log = new Logger('JqMaster');

  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    if (response.headersSent || response.destroyed) {
      response.end();
      return;
    }
    const { status, body } = this.describe(error);
    if (status === HttpStatus.TOO_MANY_REQUESTS || status === HttpStatus.SERVICE_UNAVAILABLE) {
      response.setHeader('retry-after', RETRY_AFTER_SECONDS);
    }
    if (status === HttpStatus.UNAUTHORIZED) response.setHeader('www-authenticate', 'Bearer');
    this.host.httpAdapter.reply(response, body, status);
  }

  private describe(error: unknown): { status: number; body: ErrorBody } {
    const status = STATUSES.find(([type]) => error instanceof type)?.[1];
    if (status !== undefined) {
      const { code, message } = error as Error & { code: string };
      return { status, body: { code, message } };
    }
    if (error instanceof HttpException) return { status: error.getStatus(), body: bodyOf(error) };
    const parsing = statusOfParser(error);
    if (parsing !== undefined) {
      const { message } = error as Error;
      return { status: parsing, body: { code: HttpStatus[parsing] ?? 'BAD_REQUEST', message } };
    }
    this.log.error(error);
    return {
      status: HttpStatus.INTERNAL_SERVER_ERROR,
      body: { code: 'INTERNAL', message: 'The master failed. Its log says why.' },
    };
  }
}

function bodyOf(error: HttpException): ErrorBody {
  const response = error.getResponse();
  const code = typeof response === 'object' && 'code' in response ? response.code : undefined;
  const fallback = HttpStatus[error.getStatus()] ?? 'ERROR';
  return { code: typeof code === 'string' ? code : fallback, message: error.message };
}

/** A body that could not be read: too large, cut off, compressed. */
function statusOfParser(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error) || !('expose' in error)) return undefined;
  const { status, expose } = error;
  return typeof status === 'number' && status >= 400 && status < 500 && expose === true ? status : undefined;
}
