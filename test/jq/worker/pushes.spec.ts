import { describe, expect, it } from '@jest/globals';
import { decode } from '@msgpack/msgpack';
import { once } from 'node:events';
import { connect } from 'node:net';
import { request } from 'undici';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { signed } from '../../../lib/jq/wire/signature.js';
import { freePort } from '../../support/free-port.js';
import { gate } from '../../support/gate.js';
import { stopWorkersAfterEach } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';
import { vector } from '../message-pack/vectors.js';
import { useMaster } from '../master/use-master.js';
import { idleWorker, listeningWorker, packed, push } from './worker-rig.js';

const MASTER = 'http://127.0.0.1:1';

describe('jq', () => {
  it.each([
    ['master', { master: '127.0.0.1:80' }],
    ['master', { master: 'redis://127.0.0.1' }],
    ['maxJobs', { maxJobs: 0 }],
    ['maxJobs', { maxJobs: 1.5 }],
    ['listen.port', { listen: { port: 70_000 } }],
    ['listen.port', { listen: { port: '80' as unknown as number } }],
    ['listen.url', { listen: { port: 0, host: '0.0.0.0' } }],
    ['listen.url', { listen: { port: 0, url: 'worker:80' } }],
    ['secret', { secret: '' }],
    ['secret', { secret: ['good', ''] }],
    ['pingInterval', { pingInterval: 0 }],
    ['signatureWindow', { signatureWindow: 'soon' }],
    ['maxBodyBytes', { maxBodyBytes: -1 }],
  ])('refuses a bad `%s`: %j', (option, options) => {
    expect(() => jq({ master: MASTER, ...options })).toThrow(`\`${option}\``);
  });

  it('says at the start that its port is taken', async () => {
    const port = await freePort();
    const [one, two] = [jq({ master: MASTER, listen: { port } }), jq({ master: MASTER, listen: { port } })];
    await one.open(['mail']);
    await expect(two.open(['mail'])).rejects.toThrow('EADDRINUSE');
    await Promise.all([one.close(), two.close()]);
  });
});

describe('POST /worker-job', () => {
  const master = useMaster();
  stopWorkersAfterEach();

  it('answers 400 to every truncation of a valid push, and runs nothing', async () => {
    const ran: unknown[] = [];
    const { http } = await listeningWorker(master.url, 'mail', (input) => ran.push(input));
    const whole = vector('POST /worker-job');
    const bodies = [
      ...Array.from(whole, (_, length) => whole.subarray(0, length)),
      Buffer.concat([whole, whole]),
    ];
    for (const body of bodies) {
      const reply = await http.call('POST', '/worker-job', { body });
      expect(reply).toMatchObject({ status: 400, body: { code: 'MALFORMED_MESSAGE' } });
    }
    expect(ran).toEqual([]);
  });

  it.each([
    ['without an id', { id: undefined, job_id: undefined }],
    ['without a name', { name: undefined }],
    ['whose argument is no map', { argument: [1] }],
    ['without a timeout', { timeout: undefined }],
    ['with a timeout of 0', { timeout: 0 }],
    ['with an attempt that is no number', { attempt: 'first' }],
  ])('answers 400 to a push %s', async (_, change) => {
    const { http } = await listeningWorker(master.url, 'mail', () => undefined);
    await expect(
      http.call('POST', '/worker-job', { body: packed(dropped(push(change))) }),
    ).resolves.toMatchObject({
      status: 400,
      body: { code: 'INVALID_FIELD' },
    });
  });

  it('answers 404 to a name without a handler, and to every other route', async () => {
    const { http } = await listeningWorker(master.url, 'mail', () => undefined);
    await expect(http.post('/worker-job', push({ name: 'sms' }))).resolves.toMatchObject({
      status: 404,
      body: { code: 'UNKNOWN_NAME' },
    });
    await expect(http.post(`/${'0'.repeat(24)}/worker-job`, push())).resolves.toMatchObject({ status: 410 });
    await expect(http.call('GET', '/worker-job')).resolves.toMatchObject({ status: 404 });
    await expect(http.post('/', push())).resolves.toMatchObject({ status: 404 });
  });

  it('answers 415 to JSON, and 400 to a body over the limit', async () => {
    const { http } = await listeningWorker(master.url, 'mail', () => undefined, { maxBodyBytes: 1000 });
    const headers = { 'content-type': 'application/json' };
    await expect(http.call('POST', '/worker-job', { body: '{}', headers })).resolves.toMatchObject({
      status: 415,
    });
    await expect(
      http.post('/worker-job', push({ argument: { text: 'x'.repeat(1000) } })),
    ).resolves.toMatchObject({
      status: 400,
      body: { code: 'PAYLOAD_TOO_LARGE' },
    });
  });

  it('answers 403 to what another site may have sent, and runs nothing', async () => {
    const ran: unknown[] = [];
    const { http } = await listeningWorker(master.url, 'mail', (input) => ran.push(input));
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { host: 'evil.example' },
    ]) {
      const reply = await request(`${http.url}/worker-job`, {
        method: 'POST',
        body: packed(push()),
        headers,
      });
      expect([headers, reply.statusCode]).toEqual([headers, 403]);
      expect(decode(await reply.body.bytes())).toMatchObject({ code: 'FOREIGN_PAGE' });
    }
    expect(ran).toEqual([]);
  });

  it('answers 202 while the handler runs, also when the push comes again; then 429 with Retry-After', async () => {
    const end = gate();
    const ran: unknown[] = [];
    const { http } = await listeningWorker(master.url, 'mail', (input) => {
      ran.push(input);
      return end.passed;
    });
    await eventually(async () => expect((await http.post('/worker-job', push())).status).toBe(202));
    await expect(http.post('/worker-job', push())).resolves.toMatchObject({ status: 202 });
    const full = await http.post('/worker-job', push({ id: 'j2' }));
    expect(full).toMatchObject({ status: 429, body: { code: 'FULL' } });
    expect(full.headers.get('retry-after')).toBe('1');
    expect(ran).toEqual([{ to: 'a@b' }]);
    end.open();
  });

  it('answers 202 to a push that comes again after its job has ended, and does not run it again', async () => {
    const ran: unknown[] = [];
    const { http } = await listeningWorker(master.url, 'mail', (input) => ran.push(input));
    const taken = (change?: object) =>
      eventually(async () => expect((await http.post('/worker-job', push(change))).status).toBe(202));
    await taken();
    // It is taken once the slot is free again, so the first has ended by then.
    await taken({ id: 'j2', job_id: 'j2' });
    await expect(http.post('/worker-job', push())).resolves.toMatchObject({ status: 202 });
    await taken({ attempt: 2 });
    await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(3));
    expect(ran).toHaveLength(3);
  });

  it('answers 429 when as many jobs run in all as `maxJobs` says', async () => {
    const end = gate();
    const options = { maxJobs: 1, handler: { concurrency: 5 } };
    const { http } = await listeningWorker(master.url, 'mail', () => end.passed, options);
    await eventually(async () => expect((await http.post('/worker-job', push())).status).toBe(202));
    await expect(http.post('/worker-job', push({ id: 'j2' }))).resolves.toMatchObject({ status: 429 });
    end.open();
  });

  it('answers 503 with Retry-After without a claim, so that the job goes to others', async () => {
    const worker = await idleWorker(master.url);
    const reply = await worker.push(Buffer.from(packed(push())));
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
    await worker.close();
  });

  it('ends the run of an attempt when a later one of the same job comes', async () => {
    const aborted = gate<unknown>();
    const attempts: number[] = [];
    const { http } = await listeningWorker(
      master.url,
      'mail',
      (_, job) => {
        attempts.push(job.attempts);
        job.signal.addEventListener('abort', () => aborted.open(job.signal.reason));
        return job.attempts === 1 ? new Promise(() => undefined) : 'done';
      },
      { handler: { concurrency: 2 } },
    );
    await eventually(async () => expect((await http.post('/worker-job', push())).status).toBe(202));
    const again = push({ attempt: 2, retry_count: 1 });
    await expect(http.post('/worker-job', again)).resolves.toMatchObject({ status: 202 });
    await expect(aborted.passed).resolves.toMatchObject({ code: 'LEASE_LOST' });
    expect(attempts).toEqual([1, 2]);
  });

  describe('with a secret', () => {
    const secured = (ran: unknown[]) =>
      listeningWorker(master.url, 'mail', (input) => void ran.push(input), { secret: ['next', 'secret'] });
    const body = packed(push());
    const send = (http: { call: (...args: never[]) => unknown }, headers: Record<string, string>) =>
      (http as Awaited<ReturnType<typeof secured>>['http']).call('POST', '/worker-job', { body, headers });

    it('answers 401 to what is not signed, signed by others, changed or old', async () => {
      const ran: unknown[] = [];
      const { http } = await secured(ran);
      await expect(send(http, {})).resolves.toMatchObject({ status: 401, body: { code: 'BAD_SIGNATURE' } });
      await expect(send(http, signed(body, http.url, 'other'))).resolves.toMatchObject({ status: 401 });
      await expect(send(http, signed(packed(push({ id: 'j2' })), http.url, 'secret'))).resolves.toMatchObject(
        {
          status: 401,
        },
      );
      await expect(send(http, signed(body, http.url, 'secret', Date.now() - 120_000))).resolves.toMatchObject(
        {
          status: 401,
        },
      );
      // What was meant for another worker with the same secret.
      await expect(send(http, signed(body, 'http://127.0.0.1:1', 'secret'))).resolves.toMatchObject({
        status: 401,
      });
      expect(ran).toEqual([]);
    });

    it('answers 401 before the body of what is not signed has come', async () => {
      const { http } = await secured([]);
      const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
      socket.write('POST /worker-job HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n');
      const [head] = (await once(socket, 'data')) as [Buffer];
      expect(String(head)).toMatch(/^HTTP\/1.1 401 /);
      socket.destroy();
    });

    it('runs what is signed once, however often it is sent', async () => {
      const ran: unknown[] = [];
      const { http } = await secured(ran);
      const headers = signed(body, http.url, 'secret');
      await eventually(async () =>
        expect(((await send(http, headers)) as { status: number }).status).toBe(202),
      );
      await eventually(() => expect(ran.length).toBeGreaterThan(0));
      for (let i = 0; i < 5; i++) await expect(send(http, headers)).resolves.toMatchObject({ status: 202 });
      expect(ran).toHaveLength(1);
    });
  });
});

function dropped(job: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(job).filter(([, value]) => value !== undefined));
}
