import { request, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
}

/** The cookies of dashboards that were opened with their tokens, by origin, as a browser keeps them. */
const cookies = new Map<string, string>();

/** Opens a dashboard at its URL with a token: later requests to its origin have the cookie. */
export async function openWithToken(url: string): Promise<void> {
  const { status, headers } = await ask(url, '');
  const [cookie] = headers['set-cookie'] ?? [];
  if (cookie === undefined) throw new Error(`${url} was answered with ${status}, and no cookie`);
  cookies.set(new URL(url).origin, cookie.split(';')[0] ?? '');
}

/** The cookie of a dashboard that was opened with its token. */
export function cookieOf(url: string): string | undefined {
  return cookies.get(new URL(url).origin);
}

/** The headers that a request has of itself. */
function ownHeaders(url: string, isStranger = false): Record<string, string> {
  const cookie = isStranger ? undefined : cookieOf(url);
  return cookie === undefined ? {} : { cookie };
}

export interface Asked {
  /** Sends no cookie of a dashboard that was opened. */
  readonly isStranger?: boolean;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly method?: string;
  readonly agent?: Agent;
}

/** Unlike `fetch`, it sends any header, such as Host and Sec-Fetch-Site, and follows no redirect. */
export function ask(
  base: string,
  path: string,
  { headers = {}, body, method, agent, isStranger }: Asked = {},
): Promise<Answer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      base + path,
      {
        method: method ?? (text === undefined ? 'GET' : 'POST'),
        headers: {
          ...ownHeaders(base, isStranger),
          ...(text !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        agent: agent ?? false,
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(parts);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: bytes.toString(),
            bytes,
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(text);
  });
}

/** A reply with the status 200 of which nothing is read. */
export function unreadOf(base: string, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(base + path, { headers: ownHeaders(base), agent: false }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${path}: ${response.statusCode}`));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The JSON of a reply with the status 200. */
export async function json<T>(base: string, path: string, asked: Asked = {}): Promise<T> {
  const { status, text } = await ask(base, path, asked);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text) as T;
}

/** An event of a stream. */
export interface Event {
  readonly name: string;
  readonly data: unknown;
}

/** Opens a stream of Server-Sent Events and keeps what it gets. */
export function listen(base: string, topics: unknown, headers: Record<string, string> = {}) {
  const events: Event[] = [];
  let rest = '';
  let hasEnded = false;
  let hasBegun = false;
  const sent = request(`${base}/api/live?topics=${encodeURIComponent(JSON.stringify(topics))}`, {
    headers: { ...ownHeaders(base), ...headers },
    agent: false,
  });
  sent.on('response', (response) => {
    hasBegun = response.statusCode === 200;
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      const blocks = (rest + part).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const name = /^event: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (name !== undefined && data !== undefined)
          events.push({ name, data: JSON.parse(data) as unknown });
      }
    });
    response.on('error', () => undefined);
    response.on('close', () => (hasEnded = true));
  });
  sent.on('error', () => (hasEnded = true));
  sent.end();
  return { events, close: () => sent.destroy(), hasEnded: () => hasEnded, hasBegun: () => hasBegun };
}
