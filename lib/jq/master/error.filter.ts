import { Catch, HttpStatus, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import { errorReply } from './error-reply.js';

/** Every error that leaves the master is a map of code and message. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    if (response.headersSent || response.destroyed) {
      response.end();
      return;
    }
    const { status, body, retryAfter } = errorReply(error);
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    if (status === HttpStatus.UNAUTHORIZED) response.setHeader('www-authenticate', 'Bearer');
    this.host.httpAdapter.reply(response, body, status);
  }
}
