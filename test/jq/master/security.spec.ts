import { beforeEach, describe, expect, it } from '@jest/globals';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Agent, request } from 'undici';
import { eventually, until } from '../../support/until.js';
import { lookupWithin } from '../../../lib/jq/master/callbacks/callback-connector.js';
import { CallbackAllowlist, NOT_TO_METADATA } from '../../../lib/jq/master/callbacks/callback-allowlist.js';
import type { JqMasterOptions } from '../../../lib/jq/master/master-options.js';
import { API_ROUTES } from '../../../lib/jq/master/openapi/api-routes.js';
import { CONTRACT_ROUTES } from '../../../lib/jq/master/openapi/contract-routes.js';
import { verify, type SignatureHeaders } from '../../../lib/jq/wire/signature.js';
import { useTls } from '../../support/tls.js';
import { plainWorker, status, stopPlainWorkersAfterEach } from './plain-worker.js';
import { useMaster } from './use-master.js';

const SECRET = 'a secret of enough bytes';

describe('the security of a master', () => {
  const master = useMaster({ suspect: 20, suspectCap: 50 });
  stopPlainWorkersAfterEach();
  const pem = useTls();
  beforeEach(() => master.redis.redis.flushall());

  it.each<[string, Partial<JqMasterOptions>, RegExp]>([
    ['an empty token', { tokens: { admin: [''] } }, /token/],
    ['a short secret', { callbacks: { secret: 'short' } }, /secret.*too short/],
    ['an entry that is no host', { callbacks: { allow: ['http://x'] } }, /"http:\/\/x" is no entry/],
    ['a certificate without its key', { callbacks: { cert: 'x' } }, /only one of/],
    ['a key that is none', { tls: { cert: 'x', key: 'y' } }, /`tls` can't be used/],
  ])('refuses %s before it listens', async (_, options, message) => {
    await expect(master.another(options)).rejects.toThrow(message);
  });

  describe('tokens', () => {
    it('stand before every route that has a role, and admin before none of them', async () => {
      const tokens = { pusher: ['p1', 'p2'], worker: ['w'], admin: ['a'] };
      const guarded = await master.another({ tokens });
      for (const { method, path, role } of [...CONTRACT_ROUTES, ...API_ROUTES]) {
        const ask = async (authorization?: string) => {
          const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
          const url = path.replace('{id}', 'x');
          return (await guarded.call(method.toUpperCase(), `${url}?timeout=0`, { headers })).status;
        };
        await expect(ask()).resolves.toBe(401);
        for (const wrong of ['Bearer x', 'Bearer ', 'Basic a', 'a', 'Bearer a b']) {
          await expect(ask(wrong)).resolves.toBe(401);
        }
        const allowed = async (token: string) => ![401, 403].includes(await ask(`Bearer ${token}`));
        expect([path, await allowed('p2'), await allowed('w'), await allowed('a')]).toEqual([
          path,
          role === 'pusher',
          role === 'worker',
          true,
        ]);
      }
    });
  });

  describe('signed pushes', () => {
    it('carry a timestamp and an HMAC of it and the body', async () => {
      const signing = await master.another({ callbacks: { secret: SECRET } });
      const worker = await plainWorker();
      await signing.register({ url: worker.url });
      await signing.enqueue();
      const { bytes, ...push } = await until(() => worker.pushes[0]);
      const headers = push.headers as SignatureHeaders;
      const options = { url: worker.url, secrets: [SECRET], window: 60_000 };
      expect(verify(bytes, headers, options)).toBe(true);
      expect(verify(Buffer.concat([bytes, Buffer.of(0)]), headers, options)).toBe(false);
      expect(verify(bytes, headers, { ...options, secrets: ['another secret, as long'] })).toBe(false);
      expect(verify(bytes, headers, { ...options, now: new Date(Date.now() + 61_000) })).toBe(false);
    });

    it('are plain without a secret', async () => {
      const worker = await plainWorker();
      await master.register({ url: worker.url });
      await master.enqueue();
      const { headers } = await until(() => worker.pushes[0]);
      expect(Object.keys(headers).filter((name) => name.startsWith('jq-'))).toEqual([]);
    });
  });

  describe('a master without a callback allowlist', () => {
    it('refuses workers at the metadata of clouds', async () => {
      const url = 'http://169.254.169.254/latest';
      await expect(master.post('/worker', { name: 'w', max_jobs: 1, url })).resolves.toMatchObject({
        status: 403,
        body: { code: 'CALLBACK_NOT_ALLOWED' },
      });
    });

    it('pushes nothing there, though the worker registered with a master that allows it', async () => {
      const listing = await master.another({ callbacks: { allow: ['169.254.0.0/16'] }, prefix: '{link}:' });
      const id = await listing.register({ url: 'http://169.254.169.254' });
      await listing.master.close();
      const plain = await master.another({ prefix: '{link}:', port: 0 });
      await plain.enqueue();
      await eventually(async () => {
        const { body } = await plain.call('GET', `/api/workers/${id}`);
        expect((body as { failures: number }).failures).toBeGreaterThan(0);
      });
    });

    it('leaves out such addresses of a name', async () => {
      const look = (name: string) =>
        new Promise<unknown>((resolve) => {
          const lookup = lookupWithin(NOT_TO_METADATA);
          lookup(name, { all: true, family: 4 }, (error, found) => resolve(error ?? found));
        });
      await expect(look('169.254.169.254')).resolves.toMatchObject({ code: 'CALLBACK_NOT_ALLOWED' });
      await expect(look('localhost')).resolves.toEqual([{ address: '127.0.0.1', family: 4 }]);
    });
  });

  describe('the callback allowlist', () => {
    it('refuses workers at addresses that are not listed, and takes those that are, and those that pull', async () => {
      const guarded = await master.another({ callbacks: { allow: ['*.example.com', '127.0.0.0/8'] } });
      const register = (url?: string) =>
        guarded.post('/worker', { name: 'w', max_jobs: 1, ...(url === undefined ? {} : { url }) });
      for (const url of ['http://10.0.0.1', 'http://[::1]:80', 'http://169.254.169.254/latest']) {
        await expect(register(url)).resolves.toMatchObject({
          status: 403,
          body: { code: 'CALLBACK_NOT_ALLOWED' },
        });
      }
      const worker = await plainWorker();
      for (const url of ['http://a.example.com', worker.url, undefined]) {
        await expect(register(url)).resolves.toMatchObject({ status: 201 });
      }
      await guarded.enqueue();
      await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    });

    it('checks the address that a name resolves to when it connects', async () => {
      const worker = await plainWorker();
      const url = worker.url.replace('127.0.0.1', 'localhost');
      const named = await master.another({ callbacks: { allow: ['localhost'] } });
      const id = await named.register({ url });
      await named.enqueue();
      const failures = async () =>
        ((await named.call('GET', `/api/workers/${id}`)).body as { failures: number }).failures;
      await eventually(async () => expect(await failures()).toBeGreaterThan(0));
      expect(worker.pushes).toEqual([]);
      const listed = await master.another({ callbacks: { allow: ['localhost', '127.0.0.0/8', '::1'] } });
      await named.master.close();
      await listed.enqueue();
      await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    });

    it('holds for workers that registered with another master', async () => {
      const worker = await plainWorker();
      const id = await master.register({ url: worker.url });
      const guarded = await master.another({ callbacks: { allow: ['*'] }, prefix: '{other}:' });
      const open = await master.another({ prefix: '{other}:', port: 0 });
      await open.register({ url: worker.url });
      await open.master.close();
      await guarded.enqueue();
      await until(async () => {
        const { body } = await guarded.call('GET', '/api/workers');
        return (body as { workers: { failures: number }[] }).workers.some(({ failures }) => failures > 0);
      });
      expect([worker.pushes, id]).toEqual([[], expect.any(String)]);
    });

    it('leaves out the addresses of a name that are not listed', async () => {
      const look = (entries: string[], all: boolean) =>
        new Promise<unknown>((resolve) => {
          const lookup = lookupWithin(new CallbackAllowlist(entries));
          lookup('localhost', { all, family: 4 }, (error, found) => resolve(error ?? found));
        });
      await expect(look(['127.0.0.1'], true)).resolves.toEqual([{ address: '127.0.0.1', family: 4 }]);
      await expect(look(['127.0.0.1'], false)).resolves.toBe('127.0.0.1');
      await expect(look(['localhost'], true)).resolves.toMatchObject({ code: 'CALLBACK_NOT_ALLOWED' });
    });

    it('can’t be got around by a redirect: none is followed', async () => {
      const target = await plainWorker();
      const worker = await plainWorker(status(307, { location: `${target.url}/worker-job` }));
      const guarded = await master.another({ callbacks: { allow: ['127.0.0.1'] } });
      await guarded.register({ url: worker.url });
      await guarded.enqueue();
      await eventually(() => expect(worker.pushes.length).toBeGreaterThan(1));
      expect(target.pushes).toEqual([]);
    });
  });

  describe('TLS', () => {
    const ready = async (url: string, connect: object) => {
      const dispatcher = new Agent({ connect });
      try {
        const { statusCode } = await request(`${url}/health/live`, { dispatcher });
        return statusCode;
      } finally {
        await dispatcher.destroy();
      }
    };

    it('serves HTTPS, and with an authority only those who show a certificate of it', async () => {
      const { ca, cert, key } = pem;
      const secure = await master.another({ tls: { cert, key } });
      expect(secure.url).toMatch(/^https:/);
      await expect(ready(secure.url, { ca })).resolves.toBe(200);
      await expect(ready(secure.url, {})).rejects.toThrow(/certificate|issuer/);
      const mutual = await master.another({ tls: { cert, key, clientCa: ca } });
      await expect(ready(mutual.url, { ca, cert, key })).resolves.toBe(200);
      await expect(ready(mutual.url, { ca })).rejects.toThrow();
    });

    it('pushes to workers with a certificate of the configured authority, and to no others', async () => {
      const { ca, cert, key } = pem;
      let pushes = 0;
      const worker = createTlsServer(
        { cert, key, ca, requestCert: true, rejectUnauthorized: true },
        (_, response) => {
          pushes += 1;
          response.writeHead(202).end();
        },
      );
      const url = `https://127.0.0.1:${await listen(worker)}`;
      const unknown = await master.another({ prefix: '{tls}:' });
      await unknown.register({ url });
      const id = await unknown.enqueue();
      await until(async () => {
        const { body } = await unknown.call('GET', '/api/workers');
        return (body as { workers: { failures: number }[] }).workers[0]?.failures;
      });
      await unknown.master.close();
      expect(pushes).toBe(0);
      const trusting = await master.another({ prefix: '{tls}:', callbacks: { ca, cert, key } });
      await eventually(async () =>
        expect(((await trusting.job(id)).body as { status: string }).status).toBe('running'),
      );
      worker.closeAllConnections();
      worker.close();
    });
  });

  describe('a push on a connection that its worker has just closed', () => {
    /** Serves one request on each connection, and then closes it as the next arrives. */
    const fickle = async (answersAgain: boolean) => {
      const seen: number[] = [];
      let connections = 0;
      const server = createServer((socket) => {
        connections += 1;
        let served = 0;
        socket.on('error', () => undefined);
        socket.on('data', () => {
          served += 1;
          seen.push(connections);
          if (served > 1 || (connections > 1 && !answersAgain)) return socket.resetAndDestroy();
          return void socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
        });
      });
      return { server, seen, url: `http://127.0.0.1:${await listen(server)}` };
    };

    it('is sent again once, and not held against the worker', async () => {
      const worker = await fickle(true);
      const id = await master.register({ url: worker.url, max_jobs: 10 });
      for (let i = 0; i < 3; i++) {
        const job = await master.enqueue();
        await eventually(async () =>
          expect(((await master.job(job)).body as { status: string }).status).toBe('running'),
        );
      }
      expect(worker.seen).toEqual([1, 1, 2, 2, 3]);
      await expect(master.call('GET', `/api/workers/${id}`)).resolves.toMatchObject({
        body: { failures: 0 },
      });
      worker.server.close();
    });

    it('is not sent a third time, and may have begun', async () => {
      const worker = await fickle(false);
      const slow = await master.another({
        prefix: '{fickle}:',
        suspect: '1h',
        suspectCap: '1h',
        lostAfter: 9,
      });
      await slow.register({ url: worker.url, max_jobs: 10 });
      const first = await slow.enqueue();
      await eventually(async () =>
        expect(((await slow.job(first)).body as { status: string }).status).toBe('running'),
      );
      const id = await slow.enqueue();
      await eventually(() => expect(worker.seen).toHaveLength(3));
      await until(() => master.redis.redis.hget(`{fickle}:job:${id}`, 'open'));
      await expect(master.redis.redis.hget(`{fickle}:job:${id}`, 'open')).resolves.toBe('unanswered');
      worker.server.close();
    });
  });
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
