import { beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { FRAGILE, vector } from '../message-pack/vectors.js';
import type { Call } from './http.js';
import { useMaster } from './use-master.js';

const NO_JOB = '000000000fff-00000000';
const NO_WORKER = 'f'.repeat(16);
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' };
const JOB = { name: 'mail', argument: { to: 'a@b' } };

describe('the routes of the master', () => {
  const master = useMaster({ maxBodyBytes: 100_000 });
  let worker: string;
  beforeEach(async () => {
    await master.redis.redis.flushall();
    worker = await master.register({ max_jobs: 100 });
  });

  const failure = (code: string, message: unknown = expect.any(String)) => ({ code, message });
  const pulled = async () => {
    const { status, body } = await master.pull(worker);
    expect(status).toBe(200);
    return body as { id: string; attempt: number };
  };

  describe.each([
    ['POST /job', '/job', vector('POST /job all')],
    [
      'POST /worker',
      '/worker',
      Buffer.from(encode({ name: 'w', max_jobs: 1, url: 'http://x', names: ['a'] })),
    ],
    [
      'POST /done',
      '/done',
      Buffer.from(
        encode({ job_id: NO_JOB, type: 'failure', reason: 'other', should_retry: true, message: 'm' }),
      ),
    ],
    ['POST /constraints', '/constraints', Buffer.from(encode({ match: [], concurrency: 1 }))],
  ])('%s', (_, path, whole) => {
    const post = (body: Uint8Array, call: Call = {}) =>
      master.call('POST', path, { body, worker: path === '/done' ? worker : undefined, ...call });

    it('answers 400 to every truncation, and to a byte too many', async () => {
      const bodies = [
        ...Array.from(whole, (_byte, length) => whole.subarray(0, length)),
        Buffer.concat([whole, whole]),
      ];
      const replies = await Promise.all(bodies.map((body) => post(body)));
      for (const { status, body } of replies) {
        expect(status).toBe(400);
        expect(body).toEqual(failure('MALFORMED_MESSAGE'));
      }
    });

    it.each([
      ['nil', encode(null)],
      ['nesting of a hundred thousand levels', Buffer.alloc(90_000, 0x91)],
      ['a body without end', Buffer.of(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ])('answers 400 to %s', async (_what, body) => {
      await expect(post(body)).resolves.toMatchObject({ status: 400, body: failure('MALFORMED_MESSAGE') });
    });

    it('answers 400 to an empty list', async () => {
      const code = path === '/done' ? 'INVALID_BATCH' : 'MALFORMED_MESSAGE';
      await expect(post(encode([]))).resolves.toMatchObject({ status: 400, body: failure(code) });
    });

    it('answers 413 to a body over the limit, and 415 to one of another kind', async () => {
      await expect(post(Buffer.alloc(100_001))).resolves.toMatchObject({
        status: 413,
        body: failure('PAYLOAD_TOO_LARGE'),
      });
      const type = (name: string) => post(whole, { headers: { 'content-type': name } });
      await expect(type('text/plain')).resolves.toMatchObject({
        status: 415,
        body: failure('UNSUPPORTED_MEDIA_TYPE'),
      });
      await expect(type('application/x-www-form-urlencoded')).resolves.toMatchObject({ status: 415 });
      await expect(post(whole, { headers: { 'content-encoding': 'gzip' } })).resolves.toMatchObject({
        status: 415,
      });
    });
  });

  describe('POST /job', () => {
    it.each([
      ['name', {}],
      ['name', { name: '' }],
      ['name', { name: 7 }],
      ['name', { name: 'n'.repeat(256) }],
      ['argument', { argument: undefined }],
      ['argument', { argument: [] }],
      ['argument', { argument: null }],
      ['priority', { priority: 2 ** 31 }],
      ['priority', { priority: -(2 ** 31) - 1 }],
      ['priority', { priority: 1.5 }],
      ['priority', { priority: '1' }],
      ['priority', { priority: null }],
      ['max_retry', { max_retry: -1 }],
      ['max_retry', { max_retry: 2 ** 31 }],
      ['timeout', { timeout: 0 }],
      ['timeout', { timeout: -1 }],
      ['timeout', { timeout: 2 ** 31 }],
      ['keep_result', { keep_result: 1 }],
    ])('refuses a wrong %s: %j', async (field, change) => {
      const job: Record<string, unknown> = { ...JOB, ...change };
      if (Object.keys(change).length === 0) delete job['name'];
      if ('argument' in change && change.argument === undefined) delete job['argument'];
      await expect(master.post('/job', job)).resolves.toMatchObject({
        status: 400,
        body: failure('INVALID_FIELD', expect.stringContaining(`\`${field}\``)),
      });
    });

    it.each(['POST /job minimal', 'POST /job all'] as const)('takes the vector %s', async (name) => {
      const { status, body } = await master.call('POST', '/job', { body: vector(name) });
      expect(status).toBe(201);
      expect(body).toEqual({ job_id: expect.any(String) });
      const job = await pulled();
      const { job_id } = body as { job_id: string };
      const id = Buffer.from(encode(job_id)).toString('hex');
      const { bytes } = await master.call('GET', `/job/${job_id}`);
      expect(bytes.toString('hex')).toMatch(/^83a6737461747573a772756e6e696e67/);
      expect(Buffer.from(encode(job)).toString('hex')).toBe(
        `87a26964${id}a66a6f625f6964${id}a46e616d65a46d61696ca8617267756d656e7481a2746fa3614062a774696d656f75741ea7617474656d707401ab72657472795f636f756e7400`,
      );
    });

    it('takes the bounds of int32', async () => {
      for (const priority of [2 ** 31 - 1, -(2 ** 31)]) {
        await expect(master.post('/job', { ...JOB, priority })).resolves.toMatchObject({ status: 201 });
      }
    });
  });

  describe('GET /job/{id}', () => {
    it.each(['', 'x', NO_JOB, '%00', 'a'.repeat(5000), '..%2Fworker'])('answers 404 to %j', async (id) => {
      await expect(master.call('GET', `/job/${id}`)).resolves.toMatchObject({ status: 404 });
      await expect(master.call('DELETE', `/job/${id}`)).resolves.toMatchObject({ status: 404 });
      await expect(master.call('GET', `/job/${id}/polling?timeout=0`)).resolves.toMatchObject({
        status: 404,
      });
    });

    it('tells each stage, and leaves out what there is none of', async () => {
      const id = await master.enqueue({ keep_result: true, max_retry: 1 });
      const read = async () => (await master.job(id)).body;
      await expect(read()).resolves.toEqual({ status: 'queued', retry_count: 0 });
      await pulled();
      await expect(read()).resolves.toEqual({ status: 'running', worker_id: worker, retry_count: 0 });
      const report = {
        job_id: id,
        type: 'failure',
        reason: 'other',
        should_retry: false,
        message: 'boom',
        error: null,
      };
      await expect(master.post('/done', report, { worker })).resolves.toMatchObject({ status: 204 });
      await expect(read()).resolves.toEqual({
        status: 'error',
        worker_id: worker,
        message: 'boom',
        retry_count: 0,
      });
    });

    it('answers nil for a result that was not kept', async () => {
      const id = await master.enqueue();
      await pulled();
      await master.post('/done', { job_id: id, type: 'success', result: 'secret' }, { worker });
      await expect(master.job(id)).resolves.toMatchObject({
        body: { status: 'done', worker_id: worker, result: null, retry_count: 0 },
      });
    });
  });

  describe('HEAD /job/{id}', () => {
    const isRead = (id: string) => master.redis.redis.hexists(`{jq}:job:${id}`, 'read');

    it('answers as GET does, does not wait, and reads no result', async () => {
      const id = await master.enqueue({ keep_result: true });
      await expect(master.call('HEAD', `/job/${id}`)).resolves.toMatchObject({ status: 200 });
      await expect(master.call('HEAD', `/job/${id}/polling?timeout=60`)).resolves.toMatchObject({
        status: 408,
      });
      await pulled();
      await master.post('/done', { job_id: id, type: 'success', result: 7 }, { worker });
      for (const path of [`/job/${id}`, `/job/${id}/polling`]) {
        const { status, headers, bytes } = await master.call('HEAD', path);
        expect(status).toBe(200);
        expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
        expect(bytes).toHaveLength(0);
      }
      await expect(isRead(id)).resolves.toBe(0);
      await expect(master.job(id)).resolves.toMatchObject({ body: { result: 7 } });
      await expect(isRead(id)).resolves.toBe(1);
      for (const path of [`/job/${NO_JOB}`, `/job/${NO_JOB}/polling`]) {
        await expect(master.call('HEAD', path)).resolves.toMatchObject({ status: 404 });
      }
    });
  });

  describe('DELETE /job/{id}', () => {
    it('cancels what waits, and answers 409 to what began', async () => {
      const id = await master.enqueue();
      await expect(master.call('DELETE', `/job/${id}`)).resolves.toMatchObject({
        status: 204,
        body: undefined,
      });
      await expect(master.job(id)).resolves.toMatchObject({ status: 404, body: failure('JOB_NOT_FOUND') });
      const running = await master.enqueue();
      await pulled();
      await expect(master.call('DELETE', `/job/${running}`)).resolves.toMatchObject({
        status: 409,
        body: failure('NOT_CANCELABLE'),
      });
    });
  });

  describe('GET /job/{id}/polling', () => {
    it.each(['x', '-1', '1.5', '', '1e3', ' 1', '1&timeout=2', '0x10'])(
      'refuses a timeout of %j',
      async (timeout) => {
        const id = await master.enqueue();
        await expect(master.call('GET', `/job/${id}/polling?timeout=${timeout}`)).resolves.toMatchObject({
          status: 400,
          body: failure('INVALID_PARAMETER'),
        });
      },
    );

    it('answers 408 when the job has not ended in time', async () => {
      const id = await master.enqueue();
      await expect(master.call('GET', `/job/${id}/polling?timeout=0`)).resolves.toMatchObject({
        status: 408,
      });
    });

    it.each([
      ['the same master', {}],
      ['another master', { port: 0 }],
    ])('wakes at once when the job ends on %s', async (_, options) => {
      const other = 'port' in options ? await master.another() : master;
      const id = await master.enqueue({ keep_result: true });
      const polling = other.call('GET', `/job/${id}/polling?timeout=99999`);
      await pulled();
      await master.post('/done', { job_id: id, type: 'success', result: 7 }, { worker });
      await expect(polling).resolves.toMatchObject({ status: 200, body: { status: 'done', result: 7 } });
    });

    it('answers 404 when the job is cancelled meanwhile', async () => {
      const id = await master.enqueue();
      const polling = master.call('GET', `/job/${id}/polling?timeout=60`);
      await waitUntilAwaited(id);
      await master.call('DELETE', `/job/${id}`);
      await expect(polling).resolves.toMatchObject({ status: 404 });
    });

    const waitUntilAwaited = async (id: string) => {
      while (!(await master.redis.redis.hexists(`{jq}:job:${id}`, 'awaited')))
        await master.call('GET', '/health/live');
    };
  });

  describe('POST /worker', () => {
    it.each([
      ['name', { max_jobs: 1 }],
      ['max_jobs', { name: 'w' }],
      ['max_jobs', { name: 'w', max_jobs: 0 }],
      ['max_jobs', { name: 'w', max_jobs: 2 ** 31 }],
      ['max_jobs', { name: 'w', max_jobs: '1' }],
      ['url', { name: 'w', max_jobs: 1, url: 'ftp://x' }],
      ['url', { name: 'w', max_jobs: 1, url: 'x' }],
      ['url', { name: 'w', max_jobs: 1, url: 1 }],
      ['url', { name: 'w', max_jobs: 1, url: 'http://user:pass@x' }],
      ['names', { name: 'w', max_jobs: 1, names: 'mail' }],
      ['names', { name: 'w', max_jobs: 1, names: [''] }],
      ['names', { name: 'w', max_jobs: 1, names: [] }],
      ['batch', { name: 'w', max_jobs: 1, batch: 0 }],
      ['batch', { name: 'w', max_jobs: 1, batch: 2 ** 31 }],
      ['batch', { name: 'w', max_jobs: 1, batch: '2' }],
    ])('refuses a wrong %s: %j', async (field, body) => {
      await expect(master.post('/worker', body)).resolves.toMatchObject({
        status: 400,
        body: failure('INVALID_FIELD', expect.stringContaining(`\`${field}\``)),
      });
    });

    it('takes the vector, and gives workers of one name ids of their own', async () => {
      const register = () => master.call('POST', '/worker', { body: vector('POST /worker') });
      const replies = [await register(), await register()];
      expect(replies.map(({ status }) => status)).toEqual([201, 201]);
      const ids = replies.map(({ body }) => (body as { worker_id: string }).worker_id);
      expect(new Set(ids).size).toBe(2);
    });
  });

  describe.each([
    ['DELETE', '/worker'],
    ['POST', '/worker/ping'],
    ['POST', '/worker/pull?timeout=0'],
  ])('%s %s', (method, path) => {
    it('wants the header, and a worker that is known', async () => {
      await expect(master.call(method, path)).resolves.toMatchObject({
        status: 400,
        body: failure('INVALID_PARAMETER'),
      });
      for (const unknown of [NO_WORKER, 'x', '../worker']) {
        await expect(master.call(method, path, { worker: unknown })).resolves.toMatchObject({
          status: 404,
          body: failure('WORKER_NOT_FOUND'),
        });
      }
      await expect(master.call(method, path, { worker })).resolves.toMatchObject({
        status: 204,
        body: undefined,
      });
    });
  });

  describe('POST /worker/pull', () => {
    it('waits for a job, from whichever master it comes', async () => {
      const other = await master.another();
      const pull = other.call('POST', '/worker/pull?timeout=60', { worker });
      const id = await master.enqueue();
      await expect(pull).resolves.toMatchObject({ status: 200, body: { id, name: 'mail', argument: {} } });
    });

    it('gives a job back whose worker went away while it waited', async () => {
      const gone = new AbortController();
      const pull = master.call('POST', '/worker/pull?timeout=60', { worker, signal: gone.signal });
      const aborted = expect(pull).rejects.toThrow('abort');
      while (!(await master.redis.redis.exists('{jq}:pullers'))) await master.call('GET', '/health/live');
      gone.abort();
      await aborted;
      await master.call('GET', '/health/live');
      const id = await master.enqueue();
      await expect(master.pull(worker, 60)).resolves.toMatchObject({ status: 200, body: { id } });
    });
  });

  describe('POST /done', () => {
    const success = { job_id: NO_JOB, type: 'success' };

    it.each([
      ['job_id', { type: 'success' }],
      ['job_id', { ...success, job_id: 1 }],
      ['type', { job_id: NO_JOB }],
      ['type', { ...success, type: 'other' }],
      ['reason', { ...success, type: 'failure', should_retry: true, message: '' }],
      ['reason', { ...success, type: 'failure', reason: 'x', should_retry: true, message: '' }],
      ['should_retry', { ...success, type: 'failure', reason: 'other', message: '' }],
      ['should_retry', { ...success, type: 'failure', reason: 'other', should_retry: 1, message: '' }],
      ['message', { ...success, type: 'failure', reason: 'other', should_retry: true }],
      ['finished_at', { ...success, finished_at: 'yesterday' }],
      ['finished_at', { ...success, finished_at: 12 }],
      ['attempt', { ...success, attempt: 0 }],
    ])('refuses a wrong %s: %j', async (field, body) => {
      await expect(master.post('/done', body, { worker })).resolves.toMatchObject({
        status: 400,
        body: failure('INVALID_FIELD', expect.stringContaining(`\`${field}\``)),
      });
    });

    it('answers 400 without the header, 404 to unknown workers and jobs, and 409 to who does not have the job', async () => {
      await expect(master.post('/done', success)).resolves.toMatchObject({ status: 400 });
      const report = (as: string, body: object) => master.post('/done', body, { worker: as });
      await expect(report(NO_WORKER, success)).resolves.toMatchObject({
        status: 404,
        body: failure('WORKER_NOT_FOUND'),
      });
      await expect(report(worker, success)).resolves.toMatchObject({
        status: 404,
        body: failure('JOB_NOT_FOUND'),
      });
      await expect(report(worker, { ...success, job_id: 'j1' })).resolves.toMatchObject({ status: 404 });
      const job_id = await master.enqueue();
      await expect(report(worker, { ...success, job_id })).resolves.toMatchObject({
        status: 409,
        body: failure('REPORT_REFUSED'),
      });
      await pulled();
      const finished_at = '2026-01-02T03:04:05.678+09:00';
      await expect(report(worker, { ...success, job_id, finished_at })).resolves.toMatchObject({
        status: 204,
      });
      await expect(report(worker, { ...success, job_id })).resolves.toMatchObject({ status: 204 });
    });
  });

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
    const push = await master.pull(worker);
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
    await expect(master.call('POST', '/done', { worker, body: Buffer.concat(done) })).resolves.toMatchObject({
      status: 204,
    });
    const { bytes } = await master.job(job_id);
    expect(bytes.includes(Buffer.concat([key('result'), value, key('retry_count')]))).toBe(true);
  });

  describe('JSON', () => {
    it('is for whoever sends it, and whoever asks for it', async () => {
      const sent = await master.call('POST', '/job', {
        headers: JSON_HEADERS,
        body: JSON.stringify({ ...JOB, keep_result: true }),
      });
      expect([sent.status, sent.headers.get('content-type')]).toEqual([201, 'application/json']);
      const { job_id } = JSON.parse(sent.bytes.toString()) as { job_id: string };
      await expect(pulled()).resolves.toMatchObject({ id: job_id, argument: { to: 'a@b' } });
      await master.post('/done', { job_id, type: 'success', result: { n: 1 } }, { worker });
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

    it('is the reply to JSON where nothing is said of it, and MessagePack where that is asked for', async () => {
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

  describe('/constraints', () => {
    const constraint = { match: [{ field: 'name', equal: 'mail' }], rate: { count: 1, period: 60 } };

    it('are created, read, changed and deleted', async () => {
      const created = await master.post('/constraints', constraint);
      expect(created).toMatchObject({ status: 201, body: constraint });
      const { id } = created.body as { id: string };
      await expect(master.call('GET', '/constraints')).resolves.toMatchObject({
        body: { constraints: [{ id, ...constraint }] },
      });
      const changed = { match: [], per: 'argument.tenant', concurrency: 2 };
      const put = await master.call('PUT', `/constraints/${id}`, { body: encode(changed) });
      expect(put).toMatchObject({ status: 200, body: { id, ...changed } });
      expect(put.body).not.toHaveProperty('rate');
      await expect(master.call('GET', `/constraints/${id}`)).resolves.toMatchObject({
        body: { id, ...changed },
      });
      await expect(master.call('DELETE', `/constraints/${id}`)).resolves.toMatchObject({ status: 204 });
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const call = method === 'PUT' ? { body: encode(changed) } : {};
        await expect(master.call(method, `/constraints/${id}`, call)).resolves.toMatchObject({ status: 404 });
      }
    });

    it('hold on every master as soon as they are there', async () => {
      const other = await master.another();
      await other.enqueue();
      await master.post('/constraints', constraint);
      for (const each of [master, other]) await each.enqueue();
      await expect(master.pull(worker)).resolves.toMatchObject({ status: 200 });
      await expect(other.pull(worker)).resolves.toMatchObject({ status: 204 });
      await expect(master.pull(worker)).resolves.toMatchObject({ status: 204 });
    });
  });

  it('answers 404 to what it has no route for, and tells that it lives and is ready', async () => {
    await expect(master.call('GET', '/nothing')).resolves.toMatchObject({
      status: 404,
      body: failure('NOT_FOUND'),
    });
    await expect(master.call('GET', '/health/live')).resolves.toMatchObject({ status: 200 });
    await expect(master.call('GET', '/health/ready')).resolves.toMatchObject({ status: 200 });
  });

  it('answers 429 with Retry-After when the queue is full', async () => {
    const small = await master.another({ maxQueued: 1 });
    await small.enqueue();
    const reply = await small.post('/job', JOB);
    expect(reply).toMatchObject({ status: 429, body: failure('QUEUE_FULL') });
    expect(reply.headers.get('retry-after')).toBe('1');
  });

  it('keeps roles apart by their tokens, once there is one', async () => {
    const tokens = { pusher: ['push'], worker: ['work'], admin: ['root'] };
    const guarded = await master.another({ tokens });
    const statuses = async (token?: string) => {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const replies = await Promise.all([
        guarded.post('/job', JOB, { headers }),
        guarded.post('/worker', { name: 'w', max_jobs: 1 }, { headers }),
        guarded.call('GET', '/constraints', { headers }),
        guarded.call('GET', '/health/live', { headers }),
      ]);
      return replies.map(({ status }) => status);
    };
    await expect(statuses()).resolves.toEqual([401, 401, 401, 200]);
    await expect(statuses('wrong')).resolves.toEqual([401, 401, 401, 200]);
    await expect(statuses('push')).resolves.toEqual([201, 403, 403, 200]);
    await expect(statuses('work')).resolves.toEqual([403, 201, 403, 200]);
    await expect(statuses('root')).resolves.toEqual([201, 201, 200, 200]);
  });
});
