import type { IncomingMessage, ServerResponse } from 'node:http';

/** Headers by which proxies and networks of them say whom they act for, and that they do. */
const FORWARDED_NAMES = [
  ...['forwarded(?:-.+)?', 'via', 'x-forwarded(?:-.+)?', 'x-original-.+', 'x-(?:url-)?scheme', 'x-host'],
  ...['(?:.+-)?client-?ip', '(?:.+-)?real-ip', '(?:.+-)?connecting-ip', 'x-proxyuser-ip', 'cdn-src-ip'],
  ...[
    'x-remote-(?:addr|ip)',
    'x-originating-ip',
    'x-rewrite-url',
    'x-arr-.+',
    'front-end-https',
    'x-varnish',
  ],
  ...[
    'cf-.+',
    'cdn-loop',
    'fastly-.+',
    '(?:x-)?akamai-.+',
    'cloudfront-.+',
    'x-amz-cf-.+',
    'x-amzn-trace-id',
  ],
  ...['x-appengine-.+', 'x-cloud-trace-context', 'x-azure-.+', 'x-envoy-.+', 'fly-.+', 'x-vercel-.+'],
  ...['x-nf-.+', 'tailscale-.+'],
];
const FORWARDED = new RegExp(`^(?:${FORWARDED_NAMES.join('|')})$`);

/** Node's request behind that of Express or Fastify. */
export function rawRequest(request: object): IncomingMessage {
  return ('raw' in request ? request.raw : request) as IncomingMessage;
}

/** Node's response behind that of Express or Fastify. */
export function rawResponse(response: object): ServerResponse {
  return ('raw' in response ? response.raw : response) as ServerResponse;
}

/** Calls back once a response has been sent, or its client has left: at once if that was before. */
export function onceGone(response: ServerResponse, listener: () => void): void {
  const { socket } = response.req;
  const gone = () => {
    response.off('close', gone);
    socket.off('close', gone);
    listener();
  };
  if (response.closed || socket.destroyed) return gone();
  response.once('close', gone);
  // A response that waits for others of its connection never closes by itself.
  socket.once('close', gone);
}

/** The host and port that a request names. HTTP/2 has them in place of a header. */
export function namedHost({ headers }: IncomingMessage): string | undefined {
  const named = headers.host ?? headers[':authority'];
  return typeof named === 'string' ? named : undefined;
}

/** The path as the server got it, without the query. */
export function pathOf(request: object): string {
  const url = 'originalUrl' in request ? String(request.originalUrl) : (rawRequest(request).url ?? '');
  return url.split('?')[0] ?? '';
}

/** Whether a request only reads. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether a browser asks for something to show as a page. */
export function isNavigation(request: IncomingMessage): boolean {
  const { 'sec-fetch-mode': mode, accept = '' } = request.headers;
  return isRead(request) && (mode === undefined ? accept.includes('text/html') : mode === 'navigate');
}

/** Whether a client takes gzip, as RFC 9110 has it. */
export function takesGzip({ headers }: IncomingMessage): boolean {
  const named = (headers['accept-encoding'] ?? '').toString().toLowerCase().split(',');
  const weights = new Map(named.map(weighed));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function weighed(part: string): [string, number] {
  const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
  const weight = parameters.find((text) => text.startsWith('q='));
  return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
}

/** The values of each cookie: a browser may send several of a name, for several paths. */
export function cookiesOf({ headers }: IncomingMessage): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name = '', ...value] = pair.trim().split('=');
    if (name === '') continue;
    const values = found.get(name);
    if (values) values.push(decoded(value.join('=')));
    else found.set(name, [decoded(value.join('='))]);
  }
  return found;
}

function decoded(text: string): string {
  // An error for each of thousands would cost much, before it is known who asks.
  if (!/%[\da-f]{2}/i.test(text)) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether an address is this machine's own. */
export function isLoopback(address: string | undefined): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address ?? '');
}

/**
 * Whether a request comes from this machine, by a name of this machine: a page of another site whose name resolves to
 * 127.0.0.1 sends its own name. A proxy on this machine may bring requests from anywhere.
 */
export function isLocal(request: IncomingMessage): boolean {
  const { socket, headers } = request;
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(namedHost(request) ?? '')?.[1]?.toLowerCase();
  const isOurs = name === 'localhost' || isLoopback(name?.replace(/^\[|\]$/g, ''));
  const isForwarded = Object.keys(headers).some((name) => FORWARDED.test(name.replaceAll('_', '-')));
  return isOurs && isLoopback(socket.remoteAddress) && !isForwarded;
}

/**
 * Whether a page of this server sent the request, or no page at all. A script of another page can send any `X-Forwarded-Host`:
 * it counts only in an app that trusts its proxy, whose framework has it as the request's host.
 */
export function isSameOrigin(request: object): boolean {
  const raw = rawRequest(request);
  const { headers } = raw;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (headers.origin === undefined) return true;
  const origin = hostOf(headers.origin);
  if (origin === undefined) return false;
  return origin === namedHost(raw) || ('host' in request && origin === request.host);
}

/**
 * Whether another page may learn something by the reply. Its script is told all of it if the app has CORS for its own routes,
 * with credentials, and a page on another port of this host gets the cookie too. What it loads without a script, such as by
 * `<link rel="prefetch">`, tells it whether that is there. Links to the dashboard are none.
 */
export function isForeignRead(request: object): boolean {
  if (isSameOrigin(request)) return false;
  const { headers } = rawRequest(request);
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': shown } = headers;
  const isOpened = site === 'none' || (mode === 'navigate' && shown === 'document');
  return origin !== undefined || mode === 'cors' || !isOpened;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
