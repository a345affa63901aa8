import { describe, expect, it } from '@jest/globals';
import { realNow } from '../../../../lib/job/real-time.js';
import { until } from '../../../support/until.js';
import { vector } from '../../message-pack/vectors.js';
import { failure, NO_JOB, NO_WORKER, useRoutes } from './use-routes.js';

describe('the routes of workers', () => {
  const routes = useRoutes();
  const { master } = routes;

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

    it('has the same worker for the same key and contents, and another for others', async () => {
      const register = async (key: string, worker: object = {}) => {
        const headers = { 'idempotency-key': key };
        const reply = await master.post('/worker', { name: 'w', max_jobs: 1, ...worker }, { headers });
        return [reply.status, (reply.body as { worker_id: string }).worker_id];
      };
      const first = await register('a');
      expect(first).toEqual([201, expect.stringMatching(/^[0-9a-f]{16}$/)]);
      await expect(register('a')).resolves.toEqual(first);
      await expect(register('b')).resolves.not.toEqual(first);
      await expect(register('a', { names: ['mail'] })).resolves.not.toEqual(first);
      await expect(
        master.post('/worker', { name: 'w', max_jobs: 1 }, { headers: { 'idempotency-key': 'a b' } }),
      ).resolves.toMatchObject({ status: 400, body: failure('INVALID_PARAMETER') });
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
      await expect(master.call(method, path, { worker: routes.worker })).resolves.toMatchObject({
        status: 204,
        body: undefined,
      });
    });
  });

  describe('POST /worker/pull', () => {
    it('waits for a job, from whichever master it comes', async () => {
      const other = await master.another();
      const pull = other.call('POST', '/worker/pull?timeout=60', { worker: routes.worker });
      const id = await master.enqueue();
      await expect(pull).resolves.toMatchObject({ status: 200, body: { id, name: 'mail', argument: {} } });
    });

    it('says how long it had waited when the job was handed out', async () => {
      const asked = realNow();
      const pull = master.call('POST', '/worker/pull?timeout=60', { worker: routes.worker });
      await until(() => master.redis.redis.exists('{jq}:pullers'));
      const waits = realNow();
      await until(() => realNow() > waits + 50);
      await master.enqueue();
      const { waited_ms: waited } = (await pull).body as { waited_ms: number };
      expect(waited).toBeGreaterThanOrEqual(49);
      expect(waited).toBeLessThanOrEqual(realNow() - asked);
    });

    it('gives a job back whose worker went away while it waited', async () => {
      const gone = new AbortController();
      const pull = master.call('POST', '/worker/pull?timeout=60', {
        worker: routes.worker,
        signal: gone.signal,
      });
      const aborted = expect(pull).rejects.toThrow('abort');
      while (!(await master.redis.redis.exists('{jq}:pullers'))) await master.call('GET', '/health/live');
      gone.abort();
      await aborted;
      await master.call('GET', '/health/live');
      const id = await master.enqueue();
      await expect(master.pull(routes.worker, 60)).resolves.toMatchObject({ status: 200, body: { id } });
    });

    it('leaves a job with its worker though connections of copies of its pull end', async () => {
      const id = await master.enqueue({ timeout: 60 });
      const send = (signal?: AbortSignal) =>
        master.call('POST', '/worker/pull?timeout=0&pull=1&got=0', { worker: routes.worker, signal });
      await expect(send()).resolves.toMatchObject({ status: 200 });
      for (let copies = 0; copies < 30; copies++) {
        const gone = new AbortController();
        const copy = send(gone.signal).catch(() => undefined);
        setImmediate(() => setImmediate(() => gone.abort()));
        await copy;
      }
      await master.call('GET', '/health/live');
      await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'running' } });
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
      await expect(master.post('/done', body, { worker: routes.worker })).resolves.toMatchObject({
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
      await expect(report(routes.worker, success)).resolves.toMatchObject({
        status: 404,
        body: failure('JOB_NOT_FOUND'),
      });
      await expect(report(routes.worker, { ...success, job_id: 'j1' })).resolves.toMatchObject({
        status: 404,
      });
      const job_id = await master.enqueue();
      await expect(report(routes.worker, { ...success, job_id })).resolves.toMatchObject({
        status: 409,
        body: failure('REPORT_REFUSED'),
      });
      await routes.pulled();
      const finished_at = '2026-01-02T03:04:05.678+09:00';
      await expect(report(routes.worker, { ...success, job_id, finished_at })).resolves.toMatchObject({
        status: 204,
      });
      await expect(report(routes.worker, { ...success, job_id })).resolves.toMatchObject({ status: 204 });
    });
  });
});
