import { describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { FRAGILE } from '../../message-pack/vectors.js';
import { JOB, useRoutes } from './use-routes.js';

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' };

describe('MessagePack and JSON', () => {
  const routes = useRoutes();
  const { master } = routes;

  it.each(Object.entries(FRAGILE))('gives %s back byte for byte', async (_, hex) => {
    const value = Buffer.from(hex, 'hex');
    const key = (name: string) => Buffer.from(encode(name));
    const argument = Buffer.concat([Buffer.of(0x81), key('v'), value]);
    const job = [
      Buffer.of(0x83),
      key('name'),
      key('mail'),
      key('argument'),
      argument,
      key('keep_result'),
      Buffer.of(0xc3),
    ];
    const { body } = await master.call('POST', '/job', { body: Buffer.concat(job) });
    const { job_id } = body as { job_id: string };
    const push = await master.pull(routes.worker);
    expect(push.bytes.includes(Buffer.concat([key('argument'), argument, key('timeout')]))).toBe(true);

    const done = [
      Buffer.of(0x83),
      key('job_id'),
      key(job_id),
      key('type'),
      key('success'),
      key('result'),
      value,
    ];
    await expect(
      master.call('POST', '/done', { worker: routes.worker, body: Buffer.concat(done) }),
    ).resolves.toMatchObject({
      status: 204,
    });
    const { bytes } = await master.job(job_id);
    expect(bytes.includes(Buffer.concat([key('result'), value, key('retry_count')]))).toBe(true);
  });

  describe('JSON', () => {
    it('is for clients that send it, and clients that ask for it', async () => {
      const sent = await master.call('POST', '/job', {
        headers: JSON_HEADERS,
        body: JSON.stringify({ ...JOB, keep_result: true }),
      });
      expect([sent.status, sent.headers.get('content-type')]).toEqual([201, 'application/json']);
      const { job_id } = JSON.parse(sent.bytes.toString()) as { job_id: string };
      await expect(routes.pulled()).resolves.toMatchObject({ id: job_id, argument: { to: 'a@b' } });
      await master.post('/done', { job_id, type: 'success', result: { n: 1 } }, { worker: routes.worker });
      const read = async (accept: string) =>
        (await master.call('GET', `/job/${job_id}`, { headers: { accept } })).bytes;
      expect(JSON.parse(String(await read('application/json')))).toMatchObject({
        status: 'done',
        result: { n: 1 },
      });
      for (const accept of [
        '*/*',
        'application/*',
        'text/html,*/*;q=0.8',
        'application/msgpack,application/json;q=0.5',
      ]) {
        expect(decode(await read(accept))).toMatchObject({ status: 'done', result: { n: 1 } });
      }
    });

    it('is the reply to JSON without an Accept header, and MessagePack if that is asked for', async () => {
      const send = async (headers: Record<string, string>) => {
        const body = JSON.stringify(JOB);
        const type = { 'content-type': 'application/json; charset=utf-8' };
        const reply = await master.call('POST', '/job', { headers: { ...type, ...headers }, body });
        return reply.headers.get('content-type');
      };
      await expect(send({})).resolves.toBe('application/json');
      await expect(send({ accept: '*/*' })).resolves.toBe('application/json');
      await expect(send({ accept: 'application/msgpack' })).resolves.toBe('application/msgpack');
    });

    it.each(['', '{', '{"name":', '[]', '{"name":"a"}', `{"name":"a","argument":${'['.repeat(99)}`])(
      'is answered with 400 when it is %j',
      async (body) => {
        const { status, bytes } = await master.call('POST', '/job', { headers: JSON_HEADERS, body });
        expect(status).toBe(400);
        expect(JSON.parse(bytes.toString())).toEqual({
          code: expect.any(String),
          message: expect.any(String),
        });
      },
    );
  });
});
