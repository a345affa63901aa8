import { ExpressAdapter } from '@nestjs/platform-express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toJson } from '../message-pack/json.js';
import { pack, type Packable } from '../message-pack/pack.js';
import { formatOfReply, JSON_TYPE, MESSAGE_PACK } from './media-type.js';

/** Express, answering in MessagePack or JSON as the client would have it: all that handlers and filters return. */
export class MessageAdapter extends ExpressAdapter {
  /** Set when the master shuts down: clients are to come back to another one. */
  isDraining = false;

  override reply(
    response: ServerResponse & { req: IncomingMessage },
    body: Packable | undefined,
    statusCode?: number,
  ): void {
    if (this.isDraining) response.setHeader('connection', 'close');
    const status = statusCode ?? response.statusCode;
    if (body === undefined || body === null) {
      response.writeHead(status).end();
      return;
    }
    const isJson = formatOfReply(response.req) === 'json';
    const bytes = isJson ? Buffer.from(toJson(body)) : pack(body);
    response
      .writeHead(status, {
        'content-type': isJson ? JSON_TYPE : MESSAGE_PACK,
        'content-length': bytes.length,
      })
      .end(bytes);
  }
}
