import { setMaxListeners } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { firstValueFrom } from 'rxjs';
import { z } from 'zod';
import { defineJob } from '../../../lib/job/job-definition.js';
import { JqClient, type JqClientOptions } from '../../../lib/jq/client/jq-client.js';
import {
  JqJobFailedError,
  JqJobNotFoundError,
  JqNotCancellableError,
} from '../../../lib/jq/client/client-errors.js';
import { JqRefusedError, JqUnreachableError } from '../../../lib/jq/http/master-errors.js';
import { messagePack, rawMessagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { freePort } from '../../support/free-port.js';
import { noDurations } from '../../support/no-durations.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';

const NO_JOB = '000000000fff-00000000';
const mail = defineJob<{ to: string }, string>('mail', { codec: messagePack });

describe('JqClient', () => {
  const master = useMaster({ backoff: 10, maxQueued: 50 });
  stopWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());
  let clients: JqClient[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    clients = [];
  });

  function open(options: Partial<JqClientOptions> = {}): JqClient {
    const client = new JqClient({ master: master.url, ...options });
    clients.push(client);
    return client;
  }

  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  /** Something that gives these replies one by one. */
  async function scripted(
    ...replies: { status: number; headers?: Record<string, string>; body?: string | Uint8Array }[]
  ): Promise<{ readonly url: string; readonly asked: number }> {
    let asked = 0;
    const server = createServer((request, response) => {
      const { status = 500, headers = {}, body } = replies[asked++] ?? {};
      request.resume().on('end', () => response.writeHead(status, headers).end(body));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return {
      url,
      get asked() {
        return asked;
      },
    };
  }

  const work = (handle: (input: unknown) => unknown) =>
    runWorker(jq({ master: master.url, listen: { port: 0 } }), mail, handle);

  it.each([
    ['master', { master: 'here' }],
    ['timeout', { master: 'http://x', timeout: 0 }],
    ['codec', { master: 'http://x', codec: 'xml' as 'json' }],
  ])('refuses a bad `%s`', (option, options) => {
    expect(() => new JqClient(options)).toThrow(`\`${option}\``);
  });

  it('finds its master with a ping, or says why it does not', async () => {
    await expect(open().ping()).resolves.toEqual({
      connected: true,
      server: master.url,
      lastReplyAt: expect.any(Date),
    });
    const away = `http://127.0.0.1:${await freePort()}`;
    await expect(open({ master: away }).ping('5s')).resolves.toEqual({
      connected: false,
      server: away,
      problem: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it.each([
    ['a page', { status: 200, body: '<html></html>' }, false],
    ['a page of 404', { status: 404, body: '<html></html>' }, false],
    ['an empty 404', { status: 404 }, true],
  ])(
    'pings a master of another implementation, which has no such path, by what it says of a job: %s',
    async (_, reply, connected) => {
      const { url } = await scripted({ status: 404, body: '<html></html>' }, reply);
      await expect(open({ master: url }).ping('5s')).resolves.toMatchObject({ connected });
    },
  );

  describe('enqueue', () => {
    it.each([
      ['priority', { priority: 2 ** 31 }],
      ['priority', { priority: 0.5 }],
      ['maxRetry', { maxRetry: -1 }],
      ['timeout', { timeout: 0 }],
      ['idempotencyKey', { idempotencyKey: '' }],
      ['idempotencyKey', { idempotencyKey: 'a\r\nb' }],
    ])('refuses a bad `%s`: %j, and sends nothing', async (option, options) => {
      await expect(open().enqueue(mail, { to: 'a' }, options)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        option,
      });
      await expect(master.redis.redis.exists('{jq}:heads')).resolves.toBe(0);
    });

    it.each([[['a']], ['text'], [7], [null]])('refuses an argument that is no map: %j', async (argument) => {
      await expect(open().enqueue('mail', argument)).rejects.toMatchObject({ option: 'argument' });
    });

    it('checks the argument with the schema of its definition', async () => {
      const checked = defineJob('mail', { input: z.object({ to: z.email() }) });
      await expect(open().enqueue(checked, { to: 'nobody' })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
      });
    });

    it('sends what the definition says, and options before it', async () => {
      const job = defineJob<object>('limited', { timeout: '1500ms', retry: { attempts: 3 } });
      const { id } = await open().enqueue(job, {});
      await expect(master.redis.redis.hmget(`{jq}:job:${id}`, 'timeout', 'max_retry')).resolves.toEqual([
        '2',
        '2',
      ]);
      const other = await open().enqueue(job, {}, { timeout: '1m', maxRetry: 0, priority: -5 });
      await expect(
        master.redis.redis.hmget(`{jq}:job:${other.id}`, 'timeout', 'max_retry', 'priority'),
      ).resolves.toEqual(['60', '0', '-5']);
    });

    it('rejects with what the master says against it', async () => {
      const client = open();
      const deep = JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) as object;
      const refused = client.enqueue('mail', deep);
      await expect(refused).rejects.toThrow(JqRefusedError);
      await expect(refused).rejects.toMatchObject({
        code: 'JQ_REFUSED',
        status: 400,
        reason: 'MALFORMED_MESSAGE',
      });
    });

    it('waits while the queue is full, and says so when its time is over', async () => {
      const client = open({ timeout: 300 });
      for (let i = 0; i < 50; i++) await master.enqueue();
      await expect(client.enqueue(mail, { to: 'a' })).rejects.toMatchObject({
        status: 429,
        reason: 'QUEUE_FULL',
      });
      const patient = open({ timeout: '20s' }).enqueue(mail, { to: 'late' });
      await work(() => 'done');
      await expect(patient).resolves.toMatchObject({ id: expect.any(String) });
    });

    it('sends the same Idempotency-Key until there is a reply, and another for the next job', async () => {
      const keys: IncomingHttpHeaders[string][] = [];
      const flaky = createServer((request, response) => {
        keys.push(request.headers['idempotency-key']);
        request.resume().on('end', () => {
          // As if the reply had been lost; then the master is busy.
          if (keys.length === 1) request.socket.destroy();
          else if (keys.length === 2) response.writeHead(503, { 'retry-after': '0' }).end();
          else response.writeHead(201).end(encode({ job_id: 'j1' }));
        });
      });
      await new Promise<void>((resolve) => flaky.listen(0, '127.0.0.1', resolve));
      const client = open({ master: `http://127.0.0.1:${(flaky.address() as AddressInfo).port}` });
      try {
        await expect(client.enqueue(mail, { to: 'a' })).resolves.toMatchObject({ id: 'j1' });
        await client.enqueue(mail, { to: 'a' });
        await client.enqueue(mail, { to: 'a' }, { idempotencyKey: 'order-7' });
      } finally {
        flaky.closeAllConnections();
        await new Promise((resolve) => flaky.close(resolve));
      }
      expect(new Set(keys.slice(0, 3)).size).toBe(1);
      expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
      expect(keys[3]).not.toBe(keys[0]);
      expect(keys[4]).toBe('order-7');
    });

    it('has a connection even if more polls wait than there are connections', async () => {
      const client = open();
      const { id } = await client.enqueue(mail, { to: 'slow' });
      const abort = new AbortController();
      setMaxListeners(0, abort.signal);
      const polls = Array.from({ length: 140 }, () =>
        client.poll(id, { timeout: '1m', signal: abort.signal }).catch(() => undefined),
      );
      await expect(client.enqueue(mail, { to: 'other' })).resolves.toMatchObject({ id: expect.any(String) });
      abort.abort();
      await Promise.all(polls);
    });

    it('rejects when there is no answer in time, and names the master', async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      const lost = open({ master: url, timeout: 200 }).enqueue(mail, { to: 'a' });
      await expect(lost).rejects.toThrow(JqUnreachableError);
      await expect(lost).rejects.toMatchObject({ code: 'JQ_UNREACHABLE', master: url });
    });

    it('rejects when the client is closed, at once', async () => {
      const client = open({ master: `http://127.0.0.1:${await freePort()}`, timeout: '1h' });
      const enqueuing = expect(client.enqueue(mail, { to: 'a' })).rejects.toThrow('closed');
      await client.close();
      await enqueuing;
      await expect(client.get(NO_JOB)).rejects.toThrow('closed');
    });
  });

  describe('get, poll and cancel', () => {
    it('say that there is no such job', async () => {
      await expect(open().get(NO_JOB)).resolves.toBeNull();
      await expect(open().get('../worker?x')).resolves.toBeNull();
      await expect(open().poll(NO_JOB)).rejects.toThrow(JqJobNotFoundError);
      await expect(open().cancel(NO_JOB)).rejects.toThrow(JqJobNotFoundError);
      await expect(firstValueFrom(open().result(NO_JOB))).rejects.toThrow(JqJobNotFoundError);
    });

    it('get shows the job as it is, byte for byte in `raw`', async () => {
      const client = open();
      const job = await client.enqueue(mail, { to: 'a' }, { keepResult: true });
      await expect(job.get()).resolves.toEqual({ id: job.id, status: 'queued', retryCount: 0, raw: {} });
      const worker = await master.register();
      await master.pull(worker);
      const body = Buffer.concat([
        encode({ job_id: job.id, type: 'success' }).with(0, 0x83),
        encode('result'),
      ]);
      await master.call('POST', '/done', {
        worker,
        body: Buffer.concat([body, Buffer.from('cb3ff0000000000000', 'hex')]),
      });
      const done = await client.get(job.id);
      expect(done).toMatchObject({ status: 'done', result: 1, workerId: worker });
      expect(Buffer.from(done?.raw.result ?? []).toString('hex')).toBe('cb3ff0000000000000');
    });

    it.each(noDurations())(
      'poll and enqueue refuse %s as a timeout, before anything is sent',
      async (_, value) => {
        const client = open({ master: 'http://127.0.0.1:1', timeout: 50 });
        const timeout = value as number;
        const refused = { code: 'INVALID_OPTION', option: 'timeout' };
        await expect(client.poll(NO_JOB, { timeout })).rejects.toMatchObject(refused);
        await expect(client.enqueue(mail, { to: 'a' }, { timeout })).rejects.toMatchObject(refused);
        expect(() => open({ timeout })).toThrow('Expected `timeout`');
      },
    );

    it('poll asks less and less often if it is answered at once', async () => {
      const busy = await scripted(...Array.from({ length: 5 }, () => ({ status: 408 })));
      const begun = performance.now();
      await expect(open({ master: busy.url }).poll(NO_JOB, { timeout: '5m' })).resolves.toBeNull();
      expect([busy.asked, performance.now() - begun > 700]).toEqual([5, true]);
    });

    it.each([
      [0, ['0']],
      [1, ['1']],
      ['90s', ['60', '30']],
      ['2m', ['60', '60']],
    ])('poll asks as often as it takes to wait for %p', async (timeout, asked) => {
      const waits: unknown[] = [];
      const busy = createServer((request, response) => {
        waits.push(new URLSearchParams(request.url?.split('?')[1]).get('timeout'));
        response.writeHead(408).end();
      });
      await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
      const { port } = busy.address() as AddressInfo;
      await expect(
        open({ master: `http://127.0.0.1:${port}` }).poll(NO_JOB, { timeout }),
      ).resolves.toBeNull();
      expect(waits).toEqual(asked);
      busy.close();
    });

    it('waits with the longest timeout that a timer holds', async () => {
      const client = open({ timeout: 2 ** 31 - 1 });
      const job = await client.enqueue(mail, { to: 'a' });
      await expect(job.poll({ timeout: '1s' })).resolves.toBeNull();
    });

    it('poll gives null when the job takes longer, and stops with its signal', async () => {
      const job = await open().enqueue(mail, { to: 'a' });
      await expect(job.poll({ timeout: 1 })).resolves.toBeNull();
      const abort = new AbortController();
      const polling = job.poll({ timeout: '1m', signal: abort.signal });
      abort.abort(new Error('enough'));
      await expect(polling).rejects.toThrow('enough');
    });

    it('cancel takes back what has not begun', async () => {
      const client = open();
      const job = await client.enqueue(mail, { to: 'a' });
      await job.cancel();
      await expect(job.get()).resolves.toBeNull();
      const running = await client.enqueue(mail, { to: 'b' });
      await master.pull(await master.register());
      await expect(client.cancel(running.id)).rejects.toThrow(JqNotCancellableError);
    });
  });

  it('cancel whose reply was lost has cancelled', async () => {
    let requests = 0;
    const flaky = createServer((request, response) => {
      requests += 1;
      if (requests === 1) request.socket.destroy();
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => flaky.listen(0, '127.0.0.1', resolve));
    const client = open({ master: `http://127.0.0.1:${(flaky.address() as AddressInfo).port}` });
    await client.cancel(NO_JOB).finally(() => {
      flaky.closeAllConnections();
      flaky.close();
    });
    expect(requests).toBe(2);
  });

  it('a page of something in between says nothing of a job', async () => {
    const page = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html></html>' };
    const odd = await scripted(
      page,
      { status: 204 },
      page,
      { status: 302 },
      {
        status: 200,
        body: encode({ status: 'queued' }),
      },
    );
    await open({ master: odd.url }).cancel(NO_JOB);
    await expect(open({ master: odd.url }).get(NO_JOB)).resolves.toMatchObject({ status: 'queued' });
  });

  it('call with a signal that has aborted enqueues nothing', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(open().call(mail, { to: 'a' }, { signal })).rejects.toThrow('too late');
    await expect(master.redis.redis.exists('{jq}:heads')).resolves.toBe(0);
  });

  describe('result', () => {
    it('gives the result once it is there, and completes', async () => {
      const job = await open().enqueue(mail, { to: 'Ada' }, { keepResult: true });
      const result = firstValueFrom(job.result());
      await work((input) => `to ${(input as { to: string }).to}`);
      await expect(result).resolves.toBe('to Ada');
    });

    it("fails with the worker's error", async () => {
      await work(() => Promise.reject(Object.assign(new RangeError('too far'), { code: 'FAR' })));
      const job = await open().enqueue(mail, { to: 'a' }, { maxRetry: 0 });
      const failing = firstValueFrom(job.result());
      await expect(failing).rejects.toThrow(JqJobFailedError);
      await expect(failing).rejects.toMatchObject({
        code: 'JQ_JOB_FAILED',
        id: job.id,
        reason: 'too far',
        error: { name: 'RangeError', code: 'FAR' },
      });
    });

    it.each([
      ['a page', { status: 200, body: '<html></html>' }],
      ['a page of 404', { status: 404, body: '<html></html>' }],
      ['a page of 408', { status: 408, body: '<html></html>' }],
      ['a redirection', { status: 302 }],
      ['nothing', { status: 204 }],
      ['an empty job', { status: 200 }],
      ['an empty 400', { status: 400 }],
      ['an empty 403', { status: 403 }],
      ['an empty 404', { status: 404 }],
    ])('waits through %s of something in between', async (_, reply) => {
      const odd = await scripted(reply, { status: 200, body: encode({ status: 'done', result: 7 }) });
      await expect(firstValueFrom(open({ master: odd.url }).result(NO_JOB))).resolves.toBe(7);
    });

    it.each([
      [404, JqJobNotFoundError],
      [403, JqRefusedError],
    ])('ends with a %d that comes again and again, or with one that has a code', async (status, error) => {
      const empty = await scripted(...Array.from({ length: 6 }, () => ({ status })));
      await expect(firstValueFrom(open({ master: empty.url }).result(NO_JOB))).rejects.toThrow(error);
      const explained = await scripted({ status, body: encode({ code: 'NO', message: 'no' }) });
      await expect(firstValueFrom(open({ master: explained.url }).result(NO_JOB))).rejects.toThrow(error);
      expect([empty.asked, explained.asked]).toEqual([6, 1]);
    });

    it('begins to count refusals anew with each answer', async () => {
      const odd = Array.from({ length: 5 }, () => ({ status: 404 }));
      const done = { status: 200, body: encode({ status: 'done', result: 7 }) };
      const busy = await scripted(...odd, { status: 408 }, ...odd, done);
      await expect(firstValueFrom(open({ master: busy.url }).result(NO_JOB))).resolves.toBe(7);
    });

    it.each([
      ['408', { status: 408 }],
      ['a job that waits', { status: 200, body: encode({ status: 'queued' }) }],
    ])('asks less and less often if it is answered at once with %s', async (_, reply) => {
      const done = { status: 200, body: encode({ status: 'done', result: 7 }) };
      const busy = await scripted(reply, reply, reply, reply, done);
      const begun = performance.now();
      await expect(firstValueFrom(open({ master: busy.url }).result(NO_JOB))).resolves.toBe(7);
      expect(performance.now() - begun).toBeGreaterThan(700);
    });

    it('that waits before it asks again ends when the client is closed', async () => {
      const busy = await scripted(...Array.from({ length: 6 }, () => ({ status: 408 })));
      const client = open({ master: busy.url });
      const result = firstValueFrom(client.result(NO_JOB));
      const ended = expect(result).rejects.toThrow('closed');
      await until(() => busy.asked > 0);
      await client.close();
      await ended;
    });

    it('sends nothing before it is subscribed, and stops when it is unsubscribed', async () => {
      const open$ = open().result(NO_JOB);
      const watched = await open().enqueue(mail, { to: 'a' });
      expect(open$).toBeDefined();
      const awaited = () => master.redis.redis.hexists(`{jq}:job:${watched.id}`, 'awaited');
      const result = watched.result();
      await expect(awaited()).resolves.toBe(0);
      const subscription = result.subscribe();
      await until(awaited);
      subscription.unsubscribe();
    });

    it('of a job by `call` is the output, also as the bytes it was', async () => {
      await work((input) => (input as { to: string }).to.length);
      await expect(open().call(mail, { to: 'Ada' })).resolves.toBe(3);
      const raw = defineJob<Uint8Array, Uint8Array>('mail', { codec: rawMessagePack });
      const bytes = await open().call(raw, encode({ to: 'Grace' }));
      expect(decode(bytes)).toBe(5);
    });
  });
});
