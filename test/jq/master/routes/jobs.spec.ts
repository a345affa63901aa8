import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { vector } from '../../message-pack/vectors.js';
import { failure, JOB, NO_JOB, useRoutes } from './use-routes.js';

describe('the routes of jobs', () => {
  const routes = useRoutes();
  const { master } = routes;

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
      const { waited_ms: _, ...job } = (await routes.pulled()) as Record<string, unknown>;
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

    it('shows each status, and leaves out absent fields', async () => {
      const id = await master.enqueue({ keep_result: true, max_retry: 1 });
      const read = async () => (await master.job(id)).body;
      await expect(read()).resolves.toEqual({ status: 'queued', retry_count: 0 });
      await routes.pulled();
      await expect(read()).resolves.toEqual({ status: 'running', worker_id: routes.worker, retry_count: 0 });
      const report = {
        job_id: id,
        type: 'failure',
        reason: 'other',
        should_retry: false,
        message: 'boom',
        error: null,
      };
      await expect(master.post('/done', report, { worker: routes.worker })).resolves.toMatchObject({
        status: 204,
      });
      await expect(read()).resolves.toEqual({
        status: 'error',
        worker_id: routes.worker,
        message: 'boom',
        retry_count: 0,
      });
    });

    it('answers nil for a result that was not kept', async () => {
      const id = await master.enqueue();
      await routes.pulled();
      await master.post(
        '/done',
        { job_id: id, type: 'success', result: 'secret' },
        { worker: routes.worker },
      );
      await expect(master.job(id)).resolves.toMatchObject({
        body: { status: 'done', worker_id: routes.worker, result: null, retry_count: 0 },
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
      await routes.pulled();
      await master.post('/done', { job_id: id, type: 'success', result: 7 }, { worker: routes.worker });
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
      await routes.pulled();
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
      await routes.pulled();
      await master.post('/done', { job_id: id, type: 'success', result: 7 }, { worker: routes.worker });
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
});
