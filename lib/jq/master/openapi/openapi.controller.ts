import { Controller, Get, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { JSON_TYPE } from '../../wire/media-type.js';
import { SAFE_HEADERS } from '../safe-headers.js';
import { openApiDocument } from './document.js';

/** Open to all clients: it contains no more than the documents of this package. */
@Controller('openapi.json')
export class OpenApiController {
  private readonly text = JSON.stringify(openApiDocument());

  @Get()
  read(@Res() response: ServerResponse): void {
    response.writeHead(200, { 'content-type': JSON_TYPE, ...SAFE_HEADERS }).end(this.text);
  }
}
