import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encode } from '@msgpack/msgpack';
import { MasterHttp } from '../../../lib/jq/http/master-http.js';
import { drip } from './drip.js';

describe('MasterHttp', () => {
  let server: Server;
  let http: MasterHttp;
  let answer: RequestListener;

  beforeEach(async () => {
    server = createServer((request, response) => answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    http = new MasterHttp({ master: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  afterEach(async () => {
    await http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    ['the master', encode({ code: 'TOO_MANY', message: 'There are too many.' }), 7000],
    ['a page', '<html>Too many.</html>', 0],
    ['an answer without a body', '', 0],
  ])('takes from no one but the master how long to rest: %s', async (_, body, rest) => {
    answer = (_request, response) => response.writeHead(429, { 'retry-after': '7' }).end(body);
    await expect(http.request('POST', '/job', {})).resolves.toMatchObject({ status: 429, rest });
  });

  it.each([200, 503])('is not connected while a page of %d answers', async (status) => {
    answer = (_request, response) => response.writeHead(status).end('<html>Log in.</html>');
    await http.request('GET', '/job/1', {}).catch(() => undefined);
    expect(http.health()).toEqual({
      connected: false,
      server: http.url,
      problem: expect.stringContaining(`another server has answered, with ${status}`),
    });
    answer = (_request, response) => response.writeHead(503).end(encode({ code: 'LATER' }));
    await http.request('GET', '/job/1', {});
    expect(http.health()).toMatchObject({ connected: true, lastReplyAt: expect.any(Date) });
    const { lastReplyAt } = http.health();
    answer = (_request, response) => response.writeHead(404).end('<html>Nothing here.</html>');
    await expect(http.request('POST', '/worker/ping', {})).rejects.toMatchObject({ status: 404 });
    expect(http.health()).toEqual({ connected: true, server: http.url, lastReplyAt });
  });

  it('gives up a reply that drips', async () => {
    answer = drip;
    await expect(http.request('POST', '/done', { timeout: 200 })).rejects.toThrow();
  });
});
