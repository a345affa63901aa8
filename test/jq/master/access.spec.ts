import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { request } from 'undici';
import type { JqMasterOptions } from '../../../lib/jq/master/master-options.js';
import { useTls } from '../../support/tls.js';
import { useMaster } from './use-master.js';

const OPEN = { port: 0, host: '0.0.0.0' };
const JOB = encode({ name: 'mail', argument: {} });

describe('who may ask a master', () => {
  const master = useMaster();
  const pem = useTls();
  const sockets: Socket[] = [];
  beforeEach(() => master.redis.redis.flushall());
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const ask = async (url: string, path: string, headers: Record<string, string>, method = 'POST') => {
    const body = method === 'POST' ? { body: Buffer.from(JOB) } : {};
    const reply = await request(url + path, { method: method as 'POST', headers, ...body });
    return { status: reply.statusCode, headers: reply.headers, bytes: await reply.body.bytes() };
  };

  /** A connection on which this is sent, and no more. */
  const sending = async (url: string, text: string) => {
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };

  describe('without tokens', () => {
    it.each([
      ['with the Origin of another site', { origin: 'https://evil.example' }],
      ['with an Origin that is kept secret', { origin: 'null' }],
      ['with the Origin of another port', { origin: 'http://127.0.0.1:1' }],
      ['that its browser calls foreign', { 'sec-fetch-site': 'cross-site' }],
      ['of a page on another port', { 'sec-fetch-site': 'same-site' }],
      ['for a foreign name that resolves to this machine', { host: 'evil.example' }],
      ['for such a name with a port and a dot', { host: 'evil.example.:8080' }],
      ['for such a name even from its own page', { host: 'evil.example', 'sec-fetch-site': 'same-origin' }],
      ['for what is no host', { host: 'a b' }],
    ])('are no requests %s', async (_, headers) => {
      const calls: [string, string][] = [
        ['POST', '/job'],
        ['POST', '/worker'],
        ['POST', '/worker/pull?timeout=0'],
        ['POST', '/constraints'],
        ['POST', '/api/dead-letters/requeue'],
        ['GET', '/api/jobs'],
        ['GET', '/job/x'],
        ['GET', '/metrics'],
      ];
      for (const [method, path] of calls) {
        const { status, bytes } = await ask(master.url, path, headers, method);
        expect([path, status, decode(bytes)]).toEqual([
          path,
          403,
          { code: 'FOREIGN_PAGE', message: expect.stringContaining('tokens') },
        ]);
      }
      await expect(master.redis.redis.hlen('{jq}:names')).resolves.toBe(0);
    });

    it('are programs by any address and any name that no page can have, and the page at /docs', async () => {
      const named = await master.another({ hosts: ['JQ.example.com'] });
      const own = new URL(named.url).host;
      for (const headers of [
        {},
        { host: 'localhost:1' },
        { host: 'jq-master:8080' },
        { host: '[::1]:8080' },
        { host: '192.168.1.7' },
        { host: 'jq.example.com' },
        { host: own, origin: `http://${own}`, 'sec-fetch-site': 'same-origin' },
        { host: 'jq.example.com', origin: 'https://jq.example.com:8443', 'sec-fetch-site': 'same-origin' },
        { host: 'upstream', origin: 'https://jq.example.com', 'sec-fetch-site': 'same-origin' },
        { 'sec-fetch-site': 'none' },
      ] as Record<string, string>[]) {
        const { status } = await ask(named.url, '/job', headers);
        expect([headers, status]).toEqual([headers, 201]);
      }
      const any = await master.another({ hosts: ['*'] });
      await expect(ask(any.url, '/job', { host: 'evil.example' })).resolves.toMatchObject({ status: 201 });
    });

    it('is only this machine, unless more is allowed explicitly', async () => {
      await expect(master.another(OPEN)).rejects.toThrow(/no tokens.*allowOpen/);
      await expect(master.another({ ...OPEN, host: '::' })).rejects.toThrow(/no tokens/);
      await expect(master.another({ ...OPEN, tokens: { admin: [] } })).rejects.toThrow(/no tokens/);
      const { ca: clientCa, ...tls } = pem;
      const meant: Partial<JqMasterOptions>[] = [
        { allowOpen: true },
        { tokens: { admin: ['a'] } },
        { tls: { cert: tls.cert, key: tls.key, clientCa } },
      ];
      for (const options of meant) {
        const open = await master.another({ ...OPEN, ...options });
        expect(open.master.asksForTokens).toBe(options.tokens !== undefined);
      }
    });
  });

  it('is any client with a token, whatever a browser sends', async () => {
    const guarded = await master.another({ tokens: { pusher: ['p'] } });
    const headers = { authorization: 'Bearer p', origin: 'https://intranet.example', host: 'jq.example' };
    await expect(ask(guarded.url, '/job', headers)).resolves.toMatchObject({ status: 201 });
  });

  describe('a body', () => {
    const post = (extra: string) =>
      `POST /job HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n${extra}\r\n`;

    it('is not waited for when the token is wrong', async () => {
      const guarded = await master.another({ tokens: { pusher: ['p'] } });
      for (const [extra, expected] of [
        ['', 401],
        ['authorization: Bearer x\r\n', 401],
      ] as const) {
        const socket = await sending(guarded.url, post(extra));
        const [head] = (await once(socket, 'data')) as [Buffer];
        expect(String(head)).toMatch(new RegExp(`^HTTP/1.1 ${expected} `));
      }
    });

    it('that does not come in time is given up, and so is a head', async () => {
      const hasty = await master.another({ requestTimeout: '100ms' });
      for (const text of [post(''), 'POST /job HTTP/1.1\r\nhost:']) {
        const socket = await sending(hasty.url, text);
        socket.resume();
        await once(socket, 'close');
      }
      await expect(hasty.enqueue()).resolves.toEqual(expect.any(String));
    });
  });

  it('are no more connections than `maxConnections`', async () => {
    const small = await master.another({ maxConnections: 2 });
    const [first] = [await sending(small.url, ''), await sending(small.url, '')];
    const third = await sending(small.url, '');
    third.resume();
    await once(third, 'close');
    first?.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    const [head] = (await once(first as Socket, 'data')) as [Buffer];
    expect(String(head)).toMatch(/^HTTP\/1.1 200 /);
  });

  it('gets headers with each reply it could display, so that nothing in it is run or framed', async () => {
    for (const path of [
      '/health/live',
      '/nowhere',
      '/job/x',
      '/docs',
      '/docs/swagger-ui.css',
      '/openapi.json',
      '/metrics',
    ]) {
      const { headers } = await ask(master.url, path, { accept: 'application/json' }, 'GET');
      expect([path, headers]).toEqual([
        path,
        expect.objectContaining({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'content-security-policy': expect.stringMatching(/^default-src 'none'.*frame-ancestors 'none'$/),
        }),
      ]);
    }
    const { headers } = await ask(master.url, '/job/x', {}, 'GET');
    expect(headers).toMatchObject({
      'content-type': 'application/msgpack',
      'x-content-type-options': 'nosniff',
    });
    const { bytes } = await ask(master.url, '/docs', {}, 'GET');
    expect(Buffer.from(bytes).toString()).not.toMatch(
      /<script>|<script [^>]*src=.(https?:)?\/\/|\son[a-z]+=/i,
    );
  });
});
