import { afterEach } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Http } from '../master/http.js';

/** What it does with a request such as `POST /worker`, besides passing it on. Each returns whether it has dealt with it. */
export interface ProxyRules {
  /** Before the master gets it. */
  before?(what: string, response: ServerResponse): boolean;
  /** Before the worker gets the reply, whose body are these bytes. */
  after?(what: string, status: number, response: ServerResponse, bytes: Buffer): boolean;
  /** Whether the master gets it twice. The worker gets the second reply. */
  repeats?(what: string): boolean;
}

/** For a `describe`, behind the hook that stops workers: proxies between these and a master, by their URLs. */
export function useMasterProxies(master: Http): (rules: ProxyRules) => Promise<string> {
  const proxies: Server[] = [];
  afterEach(() => {
    for (const proxy of proxies.splice(0)) proxy.close().closeAllConnections();
  });
  return async ({ before, after, repeats }) => {
    const proxy = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request;
      const body = await buffer(request);
      const what = `${method} ${url}`;
      if (before?.(what, response)) return;
      const key = headers['idempotency-key'];
      const send = () =>
        master.call(method, url, {
          worker: headers['worker-id'] as string | undefined,
          headers: {
            'content-type': 'application/msgpack',
            ...(key === undefined ? {} : { 'idempotency-key': String(key) }),
          },
          ...(body.length > 0 ? { body } : {}),
        });
      if (repeats?.(what)) await send();
      if (response.destroyed) return;
      const reply = await send();
      if (!after?.(what, reply.status, response, reply.bytes))
        response.writeHead(reply.status).end(reply.bytes);
    });
    proxies.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  };
}

/** The line breaks with the reply. */
export function cut(response: ServerResponse): true {
  response.req.socket.destroy();
  return true;
}
