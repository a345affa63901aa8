import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { rawResponse } from './request-facts.js';

/** A response with a body that is whole. */
export interface Answer {
  readonly status?: number;
  readonly headers: OutgoingHttpHeaders;
  readonly bytes?: Buffer;
}

/** As much of Fastify's reply as is used. */
interface Reply {
  code(status: number): this;
  headers(headers: OutgoingHttpHeaders): this;
  getHeaders(): OutgoingHttpHeaders;
  send(bytes: Buffer): void;
  hijack(): void;
}

/** Through Fastify's reply, so that its plugins see the answer: sessions are kept by their hooks. */
export function send(response: object, { status = 200, headers, bytes = Buffer.alloc(0) }: Answer): void {
  if (isReply(response)) return response.code(status).headers(headers).send(bytes);
  const raw = rawResponse(response);
  // Not in a chain: middleware replaces these functions by others that return nothing.
  raw.writeHead(status, { ...headers, 'content-length': bytes.length });
  raw.end(bytes);
}

export function headerOf(response: object, name: string): OutgoingHttpHeaders[string] {
  const own = isReply(response) ? response.getHeaders()[name] : undefined;
  return own ?? rawResponse(response).getHeader(name);
}

export function setHeaders(response: object, headers: Readonly<Record<string, string>>): void {
  if (isReply(response)) response.headers(headers);
  else for (const [name, value] of Object.entries(headers)) rawResponse(response).setHeader(name, value);
}

/** Node's response for a stream, with the headers that were set so far; Fastify then leaves it alone. */
export function taken(response: object): ServerResponse {
  const raw = rawResponse(response);
  if (!isReply(response)) return raw;
  for (const [name, value] of Object.entries(response.getHeaders()))
    if (value !== undefined) raw.setHeader(name, value);
  response.hijack();
  return raw;
}

function isReply(response: object): response is Reply {
  return 'hijack' in response && typeof response.hijack === 'function';
}
