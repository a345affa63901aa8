import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { freePort } from '../../support/free-port.js';
import { useMaster } from './use-master.js';

const NO_JOB = '000000000fff-00000000';
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' };
const FAILURE = { type: 'failure', reason: 'other', should_retry: false, message: 'boom' };

describe('POST /done with a batch', () => {
  const master = useMaster();
  let worker: string;
  beforeEach(async () => {
    await master.redis.redis.flushall();
    worker = await master.register({ max_jobs: 1000 });
  });

  const pulled = async (by = worker) => {
    const id = await master.enqueue({ keep_result: true });
    expect((await master.pull(by)).body).toMatchObject({ id });
    return id;
  };
  const success = (job_id: unknown, more: object = {}) => ({ job_id, type: 'success', ...more });
  const done = (reports: unknown, by = worker) => master.post('/done', reports, { worker: by });
  const statusOf = async (id: string) => ((await master.job(id)).body as { status: string }).status;

  it('is offered to workers that speak of batches, and to no others', async () => {
    const register = async (more: object, http = master as { post: typeof master.post }) =>
      (await http.post('/worker', { name: 'w', max_jobs: 1, ...more })).body;
    await expect(register({})).resolves.toEqual({ worker_id: expect.any(String) });
    await expect(register({ batch: 1 })).resolves.toEqual({ worker_id: expect.any(String), batch: 100 });
    const small = await master.another({ maxBodyBytes: 100_000 });
    await expect(register({ batch: 1 }, small)).resolves.toEqual({ worker_id: expect.any(String) });
  });

  it('answers 400 to none and to more than a hundred, and writes nothing', async () => {
    const id = await pulled();
    const tooMany = [success(id), ...Array.from({ length: 100 }, () => success(NO_JOB))];
    for (const [reports, length] of [
      [[], 0],
      [tooMany, 101],
    ] as const) {
      const message = `Expected a batch to have 1 to 100 elements, got ${length}. Send more in further requests.`;
      await expect(done(reports)).resolves.toMatchObject({
        status: 400,
        body: { code: 'INVALID_BATCH', message },
      });
    }
    await expect(statusOf(id)).resolves.toBe('running');
  });

  it('answers 400 to every truncation and to bytes too many, and writes nothing', async () => {
    const id = await pulled();
    const whole = Buffer.from(encode([success(id, { result: [1, 'a'] }), { ...FAILURE, job_id: NO_JOB }]));
    const bodies = [
      ...Array.from(whole, (_, length) => whole.subarray(0, length)),
      Buffer.concat([whole, whole]),
    ];
    const replies = await Promise.all(bodies.map((body) => master.call('POST', '/done', { body, worker })));
    for (const reply of replies) {
      expect(reply).toMatchObject({ status: 400, body: { code: 'MALFORMED_MESSAGE' } });
    }
    await expect(statusOf(id)).resolves.toBe('running');
  });

  it('answers 400 without the header, as ever', async () => {
    await expect(master.post('/done', [success(NO_JOB)])).resolves.toMatchObject({
      status: 400,
      body: { code: 'INVALID_PARAMETER' },
    });
  });

  it('takes or refuses each report by itself, in order', async () => {
    const other = await master.register();
    const [first, second, ofOther] = [await pulled(), await pulled(), await pulled(other)];
    const deep = JSON.parse('['.repeat(64) + ']'.repeat(64)) as unknown;
    const reports: [object | string, object][] = [
      [success(first, { result: 'kept' }), { status: 204 }],
      [success(first, { result: 'not kept' }), { status: 204 }],
      [
        { ...FAILURE, job_id: first },
        { status: 409, code: 'REPORT_REFUSED' },
      ],
      [success(ofOther), { status: 409, code: 'REPORT_REFUSED' }],
      [success(NO_JOB), { status: 404, code: 'JOB_NOT_FOUND' }],
      [success('not an id'), { status: 404, code: 'JOB_NOT_FOUND' }],
      [success(7), { status: 400, code: 'INVALID_FIELD' }],
      [{ job_id: second }, { status: 400, code: 'INVALID_FIELD' }],
      ['text', { status: 400, code: 'MALFORMED_MESSAGE' }],
      [success(second, { result: deep }), { status: 400, code: 'MALFORMED_MESSAGE' }],
      [{ ...FAILURE, job_id: second }, { status: 204 }],
    ];
    const { status, body } = await done(reports.map(([report]) => report));
    expect(status).toBe(200);
    expect(body).toEqual(
      reports.map(([, verdict]) =>
        'code' in verdict ? { ...verdict, message: expect.stringMatching(/\.$/) } : verdict,
      ),
    );
    await expect(master.job(first)).resolves.toMatchObject({ body: { status: 'done', result: 'kept' } });
    await expect(master.job(second)).resolves.toMatchObject({ body: { status: 'error', message: 'boom' } });
    await expect(statusOf(ofOther)).resolves.toBe('running');
  });

  it('may come again: what was taken stays as it was', async () => {
    const ids = [await pulled(), await pulled()];
    const reports = ids.map((id) => success(id, { attempt: 1, result: 1 }));
    for (let i = 0; i < 2; i++) {
      await expect(done(reports)).resolves.toMatchObject({
        status: 200,
        body: [{ status: 204 }, { status: 204 }],
      });
    }
  });

  it('is 404 for each report of an unknown worker', async () => {
    const id = await pulled();
    const { status, body } = await done([success(id), success(NO_JOB)], 'f'.repeat(16));
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { status: 404, code: 'WORKER_NOT_FOUND' },
      { status: 404, code: 'WORKER_NOT_FOUND' },
    ]);
  });

  it('may be JSON, and is answered in JSON', async () => {
    const id = await pulled();
    const deep = JSON.parse('['.repeat(64) + ']'.repeat(64)) as unknown;
    const body = `\n ${JSON.stringify([success(id, { result: { a: 1 } }), success(id, { result: deep }), 1])}`;
    const reply = await master.call('POST', '/done', { body, worker, headers: JSON_HEADERS });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.bytes.toString())).toMatchObject([
      { status: 204 },
      { status: 400, code: 'MALFORMED_MESSAGE' },
      { status: 400, code: 'MALFORMED_MESSAGE' },
    ]);
    await expect(master.job(id)).resolves.toMatchObject({ body: { result: { a: 1 } } });
    for (const wrong of ['[', '[1,]', '['.repeat(100_000)]) {
      const call = { body: wrong, worker, headers: { 'content-type': 'application/json' } };
      await expect(master.call('POST', '/done', call)).resolves.toMatchObject({ status: 400 });
    }
  });

  it('asks for each report to come later while Redis is away', async () => {
    const cutOff = await master.another({ connection: `redis://127.0.0.1:${await freePort()}` });
    const reply = await cutOff.post('/done', [success(NO_JOB), { job_id: 7 }], { worker });
    expect(reply).toMatchObject({
      status: 200,
      body: [
        { status: 503, code: 'UNAVAILABLE', retry_after: 1 },
        { status: 400, code: 'INVALID_FIELD' },
      ],
    });
  });

  it('wants the token of a worker', async () => {
    const guarded = await master.another({ tokens: { worker: ['w'], pusher: ['p'] } });
    const send = (headers: Record<string, string>) =>
      guarded.post('/done', [success(NO_JOB)], { worker, headers });
    await expect(send({})).resolves.toMatchObject({ status: 401 });
    await expect(send({ authorization: 'Bearer p' })).resolves.toMatchObject({ status: 403 });
    await expect(send({ authorization: 'Bearer w' })).resolves.toMatchObject({ status: 200 });
  });

  it.each(['/job', '/worker', '/worker/release', '/constraints'])(
    'is of this route alone, not of %s',
    async (path) => {
      await expect(master.post(path, [{ name: 'mail', argument: {} }], { worker })).resolves.toMatchObject({
        status: 400,
        body: { code: 'MALFORMED_MESSAGE' },
      });
    },
  );
});
