import { request, type Agent, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface Asked {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly method?: string;
  readonly agent?: Agent;
}

/** Unlike `fetch`, it sends any header, such as Host and Sec-Fetch-Site, and follows no redirect. */
export function ask(
  base: string,
  path: string,
  { headers = {}, body, method, agent }: Asked = {},
): Promise<Answer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      base + path,
      {
        method: method ?? (text === undefined ? 'GET' : 'POST'),
        headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
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
    headers,
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
