import { describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { connect } from 'node:net';
import { once } from 'node:events';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { signed } from '../../../lib/jq/wire/signature.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { freePort } from '../../support/free-port.js';
import { gate } from '../../support/gate.js';
import { stopWorkersAfterEach } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import type { Http } from '../master/http.js';
import { useMaster } from '../master/use-master.js';
import { idleWorker, listeningWorker, packed, push } from './worker-rig.js';

describe('POST /worker-job with a batch', () => {
  const master = useMaster();
  stopWorkersAfterEach();

  const job = (id: string, change: object = {}) => push({ id, job_id: id, ...change });
  const statuses = async (http: Http, jobs: readonly unknown[]) => {
    const { status, body } = await http.post('/worker-job', jobs);
    expect(status).toBe(200);
    return (body as { status: number }[]).map((verdict) => verdict.status);
  };
  const untilTaken = (http: Http, ...jobs: readonly unknown[]) =>
    until(async () => (await statuses(http, jobs)).every((status) => status === 202));

  it('answers 400 to every truncation, to none and to more than a hundred, and runs nothing', async () => {
    const ran: unknown[] = [];
    const { http } = await listeningWorker(master.url, 'mail', (input) => ran.push(input));
    const whole = Buffer.from(packed([job('a'), job('b')]));
    const malformed = [
      ...Array.from(whole, (_, length) => whole.subarray(0, length)),
      Buffer.concat([whole, whole]),
    ];
    for (const body of malformed) {
      const reply = await http.call('POST', '/worker-job', { body });
      expect(reply).toMatchObject({ status: 400, body: { code: 'MALFORMED_MESSAGE' } });
    }
    const many = Array.from({ length: 101 }, (_, n) => job(`many-${n}`));
    for (const jobs of [[], many]) {
      await expect(http.post('/worker-job', jobs)).resolves.toMatchObject({
        status: 400,
        body: { code: 'INVALID_BATCH' },
      });
    }
    expect(ran).toEqual([]);
  });

  it('decides about each: taken, again, unknown, full and malformed in one answer', async () => {
    const end = gate();
    const ran: unknown[] = [];
    const run = (input: unknown) => {
      ran.push(input);
      return end.passed;
    };
    const { http } = await listeningWorker(master.url, 'mail', run, { handler: { concurrency: 2 } });
    await untilTaken(http, job('a'));
    const deep = encode(JSON.parse('['.repeat(1001) + ']'.repeat(1001)), { maxDepth: 2000 });
    const parts = [
      packed(job('b')),
      packed(job('b')),
      packed(job('a')),
      packed(job('c')),
      packed(job('d', { name: 'sms' })),
      packed(job('e', { timeout: 0 })),
      packed('text'),
      deep,
    ];
    const body = Buffer.concat([Buffer.of(0x90 + parts.length), ...parts]);
    const reply = await http.call('POST', '/worker-job', { body });
    expect(reply.status).toBe(200);
    expect(decode(reply.bytes)).toEqual([
      { status: 202 },
      { status: 202 },
      { status: 202 },
      { status: 429, code: 'FULL', message: expect.any(String), retry_after: 1 },
      { status: 404, code: 'UNKNOWN_NAME', message: expect.any(String) },
      { status: 400, code: 'INVALID_FIELD', message: expect.any(String) },
      { status: 400, code: 'MALFORMED_MESSAGE', message: expect.any(String) },
      { status: 400, code: 'MALFORMED_MESSAGE', message: expect.any(String) },
    ]);
    expect(ran).toHaveLength(2);
    end.open();
  });

  it('answers 503 for each unclaimed job', async () => {
    const worker = await idleWorker(master.url);
    const reply = await worker.push(Buffer.from(packed([job('a'), job('b', { name: 'sms' })])));
    expect([reply.status, decode(await reply.arrayBuffer())]).toEqual([
      200,
      [
        { status: 503, code: 'NOT_NOW', message: expect.any(String), retry_after: 1 },
        { status: 404, code: 'UNKNOWN_NAME', message: expect.any(String) },
      ],
    ]);
    await worker.close();
  });

  it('drops unclaimed jobs when the connection is cut; those that were taken run', async () => {
    const port = await freePort();
    const source = jq({ master: master.url, listen: { port } });
    await source.open(['mail']);
    const claim = (slots: number, ms = 60_000) =>
      source.claim(new SlotTable([['mail', slots]]), AbortSignal.timeout(ms));
    await claim(3, 50);
    const claimed = claim(1);
    const body = Buffer.from(packed([job('a'), job('b'), job('c')]));
    const socket = connect(port, '127.0.0.1');
    socket.write(`POST /worker-job HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body);
    expect((await claimed).map(({ id }) => id)).toEqual(['a']);
    socket.destroy();
    await once(socket, 'close');
    // By the second answer the worker has seen to all that came before.
    for (let i = 0; i < 2; i++) await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
    const next = claim(2);
    const reply = await fetch(`http://127.0.0.1:${port}/worker-job`, {
      method: 'POST',
      body: Buffer.from(packed([job('d'), job('e')])),
    });
    expect(decode(await reply.arrayBuffer())).toEqual([{ status: 202 }, { status: 202 }]);
    expect((await next).map(({ id }) => id)).toEqual(['d', 'e']);
    await source.close();
  });

  it('runs what is signed once each, however often the batch is sent', async () => {
    const ran: string[] = [];
    const run = (input: unknown) => void ran.push((input as { n: string }).n);
    const secret = 'secret';
    const { http } = await listeningWorker(master.url, 'mail', run, { secret, handler: { concurrency: 5 } });
    const jobs = ['a', 'b', 'c'].map((n) => job(n, { argument: { n } }));
    const body = packed([...jobs, job('d', { name: 'sms' })]);
    const send = async (headers: Record<string, string>) =>
      http.call('POST', '/worker-job', { body, headers });
    await expect(send({})).resolves.toMatchObject({ status: 401, body: { code: 'BAD_SIGNATURE' } });
    await expect(send(signed(body, http.url, 'other'))).resolves.toMatchObject({ status: 401 });
    const headers = signed(body, http.url, secret);
    const answered = async () =>
      ((await send(headers)).body as { status: number }[]).map(({ status }) => status);
    await eventually(async () => expect((await answered()).join()).toBe('202,202,202,404'));
    await eventually(() => expect(ran).toHaveLength(3));
    for (let i = 0; i < 3; i++) await expect(answered()).resolves.toEqual([202, 202, 202, 404]);
    expect(ran.toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('is offered to the master, unless bodies must be shorter than batches may be', async () => {
    const offered = async (maxBodyBytes?: number) => {
      await master.redis.redis.flushall();
      await listeningWorker(master.url, 'mail', () => 1, maxBodyBytes === undefined ? {} : { maxBodyBytes });
      const workers = () => master.redis.redis.zrange('{jq}:workers', '0', '-1');
      await eventually(async () => expect(await workers()).toHaveLength(1));
      return master.redis.redis.hget(`{jq}:worker:${(await workers())[0]}`, 'batch');
    };
    await expect(offered()).resolves.toBe('100');
    await expect(offered(200_000)).resolves.toBeNull();
  });
});
