import { Catch, HttpException, Logger, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { STATUS_CODES } from 'node:http';
import type { GearMonkeyError } from '../job/errors.js';
import { excerpt } from '../job/secrets.js';
import { httpStatusOf } from './http-status.js';

const MAX_MESSAGE = 1000;
/** The error's own message names hosts and ports, which callers must not see. */
const UNAVAILABLE = 'Jobs are not available now. Try again later.';

/** Nest decides by `instanceof` whether the filter applies; all other errors are handled as without it. */
abstract class ErrorWithStatus {
  static [Symbol.hasInstance](error: unknown): boolean {
    return httpStatusOf(error) !== undefined;
  }
}

/**
 * Answers HTTP requests whose controller throws an error of this package with a matching status: 400 for an invalid
 * input, 404 for a missing job, 409, 413, 429, 503 and 504. docs/errors.md has the list. Nest handles all other errors and
 * contexts.
 */
@Catch(ErrorWithStatus)
export class GearMonkeyExceptionFilter extends BaseExceptionFilter<GearMonkeyError> {
  /** @internal */
  override catch(error: GearMonkeyError, host: ArgumentsHost): void {
    const type = host.getType<string>();
    if (type === 'ws') return answerSocket(error, host);
    // Returning nothing makes Nest continue as without the filter.
    if (type !== 'http') return;
    const status = httpStatusOf(error) ?? 500;
    const body = bodyOf(error, status);
    if (this.applicationRef ?? this.httpAdapterHost?.httpAdapter)
      return void super.catch(new HttpException(body, status, { cause: error }) as never, host);
    reply(host.switchToHttp().getResponse<Reply>(), status, body);
  }
}

function bodyOf({ code, message }: GearMonkeyError, statusCode: number) {
  return {
    statusCode,
    error: STATUS_CODES[statusCode],
    errorCode: code,
    message: statusCode === 503 ? UNAVAILABLE : excerpt(message, MAX_MESSAGE),
  };
}

/** A response of Express, a reply of Fastify, or Node's own response, which middleware of Fastify gets. */
interface Reply {
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  status?(code: number): { send(body: object): unknown };
  writeHead(code: number, headers: object): { end(body: string): unknown };
}

/** Replies without an adapter, which a filter made with `new` lacks. */
function reply(response: Reply, status: number, body: object): void {
  if (response.headersSent ?? response.sent) return;
  if (response.status) response.status(status).send(body);
  else
    response
      .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
      .end(JSON.stringify(body));
}

/** A socket of socket.io, or of `ws`. */
interface Client {
  readonly readyState?: number;
  send?(text: string): void;
  emit?(event: string, payload: object): void;
}

const socketLog = new Logger('WsExceptionsHandler');

/** If a filter handles an error of a gateway, Nest does not answer the client, so this sends Nest's default answer. */
function answerSocket(error: GearMonkeyError, host: ArgumentsHost): void {
  const socket = host.switchToWs();
  const client = socket.getClient<Client>();
  const cause = { pattern: socket.getPattern(), data: socket.getData<unknown>() };
  const payload = { status: 'error', message: 'Internal server error', cause };
  if (typeof client?.readyState === 'number')
    client.send?.(JSON.stringify({ event: 'exception', data: payload }));
  else client?.emit?.('exception', payload);
  socketLog.error(error);
}
