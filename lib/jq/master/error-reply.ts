import { HttpException, HttpStatus, Logger } from '@nestjs/common';
import { defined } from '../../job/defined.js';
import { stackOf } from '../../job/error-info.js';
import {
  ClientLimitError,
  EngineUnavailableError,
  KeyReusedError,
  QueueFullError,
} from '../engine/engine-errors.js';
import { MalformedMessageError } from '../../job/message-pack/message-pack-errors.js';
import { InvalidBatchError, type Verdict } from '../wire/batch.js';
import { InvalidFieldError, InvalidParameterError } from '../wire/body-errors.js';
import { ForeignPageError } from '../http/page-guard.js';
import { BodyTooLargeError, CompressedBodyError } from '../http/read-body.js';
import { CallbackRefusedError } from './callbacks/callback-connector.js';
import type { ErrorBody } from './http-errors.js';
import { UnsupportedMediaTypeError } from '../wire/media-type.js';

const RETRY_AFTER_SECONDS = 1;

type ErrorClass = new (...args: never[]) => Error & { readonly code: string };

const STATUSES: readonly (readonly [ErrorClass, HttpStatus])[] = [
  [MalformedMessageError, HttpStatus.BAD_REQUEST],
  [InvalidFieldError, HttpStatus.BAD_REQUEST],
  [InvalidBatchError, HttpStatus.BAD_REQUEST],
  [InvalidParameterError, HttpStatus.BAD_REQUEST],
  [UnsupportedMediaTypeError, HttpStatus.UNSUPPORTED_MEDIA_TYPE],
  [CompressedBodyError, HttpStatus.UNSUPPORTED_MEDIA_TYPE],
  [BodyTooLargeError, HttpStatus.PAYLOAD_TOO_LARGE],
  [ForeignPageError, HttpStatus.FORBIDDEN],
  [KeyReusedError, HttpStatus.UNPROCESSABLE_ENTITY],
  [CallbackRefusedError, HttpStatus.FORBIDDEN],
  [QueueFullError, HttpStatus.TOO_MANY_REQUESTS],
  [ClientLimitError, HttpStatus.TOO_MANY_REQUESTS],
  [EngineUnavailableError, HttpStatus.SERVICE_UNAVAILABLE],
];

const log = new Logger('JqMaster');

/** An error as the client receives it. */
export interface ErrorReply {
  readonly status: number;
  readonly body: ErrorBody;
  /** Seconds, if a retry may succeed. */
  readonly retryAfter?: number;
}

/** An unexpected error is logged and answered with 500. */
export function errorReply(error: unknown): ErrorReply {
  const { status, body } = describe(error);
  const isLater = status === HttpStatus.TOO_MANY_REQUESTS || status === HttpStatus.SERVICE_UNAVAILABLE;
  return defined({ status, body, retryAfter: isLater ? RETRY_AFTER_SECONDS : undefined });
}

/** The same as an element of a batch's reply. */
export function errorVerdict(error: unknown): Verdict {
  const { status, body, retryAfter } = errorReply(error);
  return defined({ status, ...body, retry_after: retryAfter });
}

function describe(error: unknown): { status: number; body: ErrorBody } {
  const status = STATUSES.find(([type]) => error instanceof type)?.[1];
  if (status !== undefined) {
    const { code, message } = error as Error & { code: string };
    return { status, body: { code, message } };
  }
  if (error instanceof HttpException) return { status: error.getStatus(), body: bodyOf(error) };
  log.error(stackOf(error));
  return {
    status: HttpStatus.INTERNAL_SERVER_ERROR,
    body: { code: 'INTERNAL', message: 'The master failed. Its log says why.' },
  };
}

function bodyOf(error: HttpException): ErrorBody {
  const response = error.getResponse();
  const code = typeof response === 'object' && 'code' in response ? response.code : undefined;
  const fallback = HttpStatus[error.getStatus()] ?? 'ERROR';
  return { code: typeof code === 'string' ? code : fallback, message: error.message };
}
