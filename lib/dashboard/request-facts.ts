import type { IncomingMessage, ServerResponse } from 'node:http';

const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Node's request behind that of Express or Fastify. */
export function rawRequest(request: object): IncomingMessage {
  return ('raw' in request ? request.raw : request) as IncomingMessage;
}

/** Node's response behind that of Express or Fastify. */
export function rawResponse(response: object): ServerResponse {
  return ('raw' in response ? response.raw : response) as ServerResponse;
}

/** The path as the server got it, without the query. */
export function pathOf(request: object): string {
  const url = 'originalUrl' in request ? String(request.originalUrl) : (rawRequest(request).url ?? '');
  return url.split('?')[0] ?? '';
}

/** Whether an address is this machine's own. */
export function isLoopback(address: string | undefined): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address ?? '');
}

/**
 * Whether a request comes from this machine, by a name of this machine: a page of another site whose name resolves to
 * 127.0.0.1 sends its own name. A proxy on this machine may bring requests from anywhere.
 */
export function isLocal({ socket, headers }: IncomingMessage): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(headers.host ?? '')?.[1]?.toLowerCase();
  const isOurs = name === 'localhost' || isLoopback(name?.replace(/^\[|\]$/g, ''));
  return isOurs && isLoopback(socket.remoteAddress) && !FORWARDED.some((header) => header in headers);
}

/** Whether a page of this server sent the request, or no page at all. */
export function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (headers.origin === undefined) return true;
  const { host, 'x-forwarded-host': forwarded } = headers;
  const origin = hostOf(headers.origin);
  return origin !== undefined && (origin === host || origin === forwarded);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
