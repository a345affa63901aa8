import type { NestApplicationOptions } from '@nestjs/common';
import type { ExpressAdapter } from '@nestjs/platform-express';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { toJson } from '../message-pack/json.js';
import { pack, type Packable } from '../message-pack/pack.js';
import { missingPackage } from '../../package/optional-package.js';
import type { ConnectionLimits } from './master-options.js';
import { NOT_SNIFFED, SAFE_HEADERS } from './safe-headers.js';
import { JSON_TYPE, MESSAGE_PACK, MESSAGE_PACK_NAMES, type Format } from '../wire/media-type.js';
import Negotiator from 'negotiator';

/** Longer than proxies and clients keep connections, so that no request meets one that is being closed. */
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 1000;

/** Express, which answers in MessagePack or JSON as the client prefers: all that handlers and filters return. */
export type MessageAdapter = ExpressAdapter & {
  /** Set when the master shuts down: clients are to come back to another one. */
  isDraining: boolean;
};

/** Loads Express only here: workers and clients of JQ do without it. @throws MissingPackageError */
export async function messageAdapter(limits?: ConnectionLimits): Promise<MessageAdapter> {
  const { ExpressAdapter } = await loadExpress();
  return new (messageAdapterOn(ExpressAdapter))(limits);
}

async function loadExpress() {
  try {
    return await import('@nestjs/platform-express');
  } catch (error) {
    throw missingPackage(error, 'A master', '@nestjs/platform-express undici');
  }
}

function messageAdapterOn(Base: typeof ExpressAdapter) {
  return class extends Base {
    isDraining = false;

    constructor(private readonly limits?: ConnectionLimits) {
      super();
    }

    override initHttpServer({ httpsOptions }: NestApplicationOptions): void {
      const { maxConnections = Infinity, requestTimeout } = this.limits ?? {};
      const options = {
        keepAliveTimeout: KEEP_ALIVE_MS,
        ...(requestTimeout ? { requestTimeout, headersTimeout: requestTimeout } : {}),
        connectionsCheckingInterval: CHECK_MS,
      };
      const app = this.getInstance<RequestListener>();
      this.httpServer = httpsOptions
        ? createSecureServer({ ...httpsOptions, ...options }, app)
        : createServer(options, app);
      if (maxConnections < Infinity) this.httpServer.maxConnections = maxConnections;
    }

    override reply(
      response: ServerResponse & { req: IncomingMessage },
      body: Packable | undefined,
      statusCode?: number,
    ): void {
      if (this.isDraining) response.setHeader('connection', 'close');
      const status = statusCode ?? response.statusCode;
      if (body === undefined || body === null) {
        response.writeHead(status, NOT_SNIFFED).end();
        return;
      }
      const isJson = formatOfReply(response.req) === 'json';
      const bytes = isJson ? Buffer.from(toJson(body)) : pack(body);
      response
        .writeHead(status, {
          'content-type': isJson ? JSON_TYPE : MESSAGE_PACK,
          'content-length': bytes.length,
          ...(isJson ? SAFE_HEADERS : NOT_SNIFFED),
        })
        .end(bytes);
    }
  };
}

/** Best first, for clients without a preference. */
const JSON_FIRST = [JSON_TYPE, ...MESSAGE_PACK_NAMES];

const MESSAGE_PACK_FIRST = [...MESSAGE_PACK_NAMES, JSON_TYPE];

/** Browsers send 200 characters. Thousands of ranges, which Node would let pass, would take milliseconds to parse. */
const LONGEST_ACCEPT = 1024;

/** The format the client prefers. Without a preference: JSON after a JSON body, otherwise MessagePack. */
export function formatOfReply({ headers }: Pick<IncomingMessage, 'headers'>): Format {
  const { accept, 'content-type': sent } = headers;
  // Nearly all requests: no parsing needed.
  if (accept === MESSAGE_PACK) return 'msgpack';
  const offered = sent?.startsWith(JSON_TYPE) ? JSON_FIRST : MESSAGE_PACK_FIRST;
  const isRead = accept !== undefined && accept.length <= LONGEST_ACCEPT;
  const preferred = isRead ? new Negotiator({ headers }).mediaType(offered) : undefined;
  return (preferred ?? offered[0]) === JSON_TYPE ? 'json' : 'msgpack';
}
