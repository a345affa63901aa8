import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, until } from '../../support/until.js';
import { useMaster } from './use-master.js';

const NO_JOB = '000000000fff-00000000';

interface Summary {
  readonly id: string;
  readonly status: string;
  readonly name: string;
}

describe('the routes for administrators', () => {
  const master = useMaster({ backoff: 60_000, backoffCap: 60_000 });
  let worker: string;
  beforeEach(async () => {
    await master.redis.redis.flushall();
    worker = await master.register({ max_jobs: 1000 });
  });

  const get = async (path: string) => {
    const { status, body } = await master.call('GET', path);
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  };
  const statusOf = async (method: string, path: string) => (await master.call(method, path)).status;
  const pull = async () => ((await master.pull(worker)).body as { id: string }).id;
  const report = (id: string, body: object) => master.post('/done', { job_id: id, ...body }, { worker });
  const fail = (id: string, should_retry: boolean, message = 'boom') =>
    report(id, { type: 'failure', reason: 'other', should_retry, message, error: { deep: [1] } });
  const die = async (job: object = {}) => {
    const id = await master.enqueue(job);
    expect(await pull()).toBe(id);
    await fail(id, false);
    return id;
  };
  /** All pages of a list. */
  const pages = async (path: string, list = 'jobs', from: unknown = '') => {
    const found: Summary[][] = [];
    for (let cursor = from; cursor !== undefined;) {
      const page = await get(`${path}${cursor === '' ? '' : `&cursor=${String(cursor)}`}`);
      found.push(page[list] as Summary[]);
      ({ cursor } = page);
    }
    return found;
  };

  describe.each(['/api/jobs', '/api/dead-letters', '/api/workers', '/api/names'])('GET %s', (path) => {
    const otherCursor = Buffer.from('["x","1","y"]').toString('base64url');
    it.each([
      'limit=0',
      'limit=101',
      'limit=x',
      'limit=',
      'limit=1&limit=2',
      'cursor=',
      'cursor=x',
      'cursor=W10',
      `cursor=${otherCursor}`,
      `cursor=${'A'.repeat(3000)}`,
    ])('refuses %s', async (query) => {
      const reply = await master.call('GET', `${path}?${query}`);
      expect(reply).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER' } });
    });
  });

  describe('GET /api/jobs', () => {
    it.each(['status=', 'status=x', 'status=done&status=error', 'name=', `name=${'n'.repeat(256)}`])(
      'refuses %s',
      async (query) => expect(await statusOf('GET', `/api/jobs?${query}`)).toBe(400),
    );

    it('refuses a cursor of another status', async () => {
      for (let i = 0; i < 2; i++) await master.enqueue();
      const { cursor } = await get('/api/jobs?status=queued&limit=1');
      await expect(statusOf('GET', `/api/jobs?status=done&cursor=${String(cursor)}`)).resolves.toBe(400);
    });

    it('lists jobs of a status and a name in pages, each once, the last first', async () => {
      const mail = [];
      for (let i = 0; i < 7; i++) {
        mail.unshift(await master.enqueue({ name: 'mail' }));
        await master.enqueue({ name: 'other' });
      }
      const found = await pages('/api/jobs?status=queued&name=mail&limit=3');
      expect(found.map(({ length }) => length)).toEqual([3, 3, 1]);
      expect(found.flat().map(({ id }) => id)).toEqual(mail);
    });

    it('continues where it was, even if the last item is gone and others were added', async () => {
      const ids = await Promise.all(Array.from({ length: 30 }, () => master.enqueue()));
      const { jobs, cursor } = await get('/api/jobs?status=queued&limit=10');
      const first = (jobs as Summary[]).map(({ id }) => id);
      await master.call('DELETE', `/job/${first.at(-1)}`);
      await master.enqueue();
      const rest = (await pages('/api/jobs?status=queued&limit=10', 'jobs', cursor)).flat();
      expect([...first, ...rest.map(({ id }) => id)].toSorted()).toEqual(ids.toSorted());
    });

    it('lists jobs of all statuses, one after the other, and finds those that run by their name', async () => {
      for (const name of ['a', 'b']) await master.enqueue({ name });
      await pull();
      await pull();
      await die({ name: 'a' });
      const waiting = await master.enqueue({ name: 'a' });
      const all = (await pages('/api/jobs?limit=2')).flat();
      expect(all.map(({ status }) => status)).toEqual(['running', 'running', 'queued', 'error']);
      const named = (await pages('/api/jobs?name=a&limit=1')).flat();
      expect(named.map(({ status }) => status)).toEqual(['running', 'queued', 'error']);
      expect(named[1]).toMatchObject({ id: waiting, name: 'a' });
    });
  });

  describe('GET /api/jobs/{id}', () => {
    it.each(['x', NO_JOB, '%00'])('answers 404 to %j', async (id) => {
      await expect(statusOf('GET', `/api/jobs/${id}`)).resolves.toBe(404);
    });

    it('shows how each attempt ended, and when the next is due', async () => {
      const id = await master.enqueue({ name: 'mail', argument: { to: 'a' }, priority: -3, max_retry: 1 });
      expect(await pull()).toBe(id);
      await fail(id, true, 'first');
      const job = await get(`/api/jobs/${id}`);
      expect(job).toMatchObject({
        id,
        status: 'retrying',
        name: 'mail',
        priority: -3,
        max_retry: 1,
        keep_result: false,
        timeout: 30,
        argument: { to: 'a' },
        message: 'first',
        error: { deep: [1] },
        failures: 1,
        attempt: 1,
        constraints: [],
        attempts: [{ attempt: 1, worker_id: worker, outcome: 'other', message: 'first' }],
      });
      const due = Date.parse(String(job['next_attempt_at'])) - Date.parse(String(job['since']));
      expect(due).toBeGreaterThanOrEqual(30_000);
      expect(due).toBeLessThanOrEqual(60_000);
    });

    it('shows a kept result, and does not count that as its reading', async () => {
      const id = await master.enqueue({ keep_result: true });
      await pull();
      await report(id, { type: 'success', result: 7, finished_at: '2026-01-02T03:04:05+09:00' });
      await expect(get(`/api/jobs/${id}`)).resolves.toMatchObject({
        result: 7,
        finished_at: '2026-01-02T03:04:05+09:00',
      });
      await expect(master.redis.redis.hexists(`{jq}:job:${id}`, 'read')).resolves.toBe(0);
      await master.job(id);
      await expect(master.redis.redis.hexists(`{jq}:job:${id}`, 'read')).resolves.toBe(1);
    });

    it('names the constraint that a job waits for', async () => {
      const rule = { match: [{ field: 'name', equal: 'mail' }], per: 'argument.to', concurrency: 1 };
      const { body } = await master.post('/constraints', rule);
      const { id } = body as { id: string };
      const [first, second] = [await master.enqueue(), await master.enqueue()];
      expect(await pull()).toBe(first);
      await expect(statusOf('POST', '/worker/pull')).resolves.toBe(400);
      await master.pull(worker);
      await expect(get(`/api/jobs/${second}`)).resolves.toMatchObject({ waits_for: id, constraints: [id] });
    });
  });

  describe('POST /api/jobs/{id}/retry', () => {
    it('begins a failed job anew, with all its retries, and keeps what it came to', async () => {
      const id = await die({ max_retry: 1 });
      await expect(statusOf('POST', `/api/jobs/${id}/retry`)).resolves.toBe(204);
      await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'queued' } });
      expect(await pull()).toBe(id);
      await fail(id, true);
      await expect(get(`/api/jobs/${id}`)).resolves.toMatchObject({
        status: 'retrying',
        failures: 1,
        attempts: [{ attempt: 1 }, { attempt: 2 }],
      });
    });

    it('lets a job wait no longer for its next attempt', async () => {
      const id = await master.enqueue();
      await pull();
      await fail(id, true);
      await expect(master.pull(worker)).resolves.toMatchObject({ status: 204 });
      await expect(statusOf('POST', `/api/jobs/${id}/retry`)).resolves.toBe(204);
      expect(await pull()).toBe(id);
    });

    it('answers 404 to what is not there, and 409 to what has not failed', async () => {
      await expect(statusOf('POST', `/api/jobs/${NO_JOB}/retry`)).resolves.toBe(404);
      const id = await master.enqueue();
      await expect(statusOf('POST', `/api/jobs/${id}/retry`)).resolves.toBe(409);
      await pull();
      await expect(statusOf('POST', `/api/jobs/${id}/retry`)).resolves.toBe(409);
      await report(id, { type: 'success' });
      await expect(statusOf('POST', `/api/jobs/${id}/retry`)).resolves.toBe(409);
    });

    it('does not take an old attempt’s report for the new one’s', async () => {
      const id = await die();
      await master.call('POST', `/api/jobs/${id}/retry`);
      const late = { type: 'failure', reason: 'other', should_retry: false, message: 'boom' };
      await expect(report(id, { ...late, attempt: 1 })).resolves.toMatchObject({ status: 204 });
      await expect(report(id, { type: 'success', attempt: 1 })).resolves.toMatchObject({ status: 409 });
      await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'queued' } });
    });
  });

  describe('DELETE /api/jobs/{id}', () => {
    it('forgets what waits, has failed or is done, and refuses what runs', async () => {
      const ids = [await die()];
      const retrying = await master.enqueue();
      await pull();
      await fail(retrying, true);
      const done = await master.enqueue({ keep_result: true });
      await pull();
      await report(done, { type: 'success' });
      const running = await master.enqueue();
      await pull();
      ids.push(retrying, done, await master.enqueue());
      for (const id of ids) {
        await expect(statusOf('DELETE', `/api/jobs/${id}`)).resolves.toBe(204);
        await expect(statusOf('GET', `/job/${id}`)).resolves.toBe(404);
      }
      await expect(statusOf('DELETE', `/api/jobs/${running}`)).resolves.toBe(409);
      await expect(get('/api/counts')).resolves.toEqual({
        queued: 0,
        running: 1,
        retrying: 0,
        error: 0,
        done: 0,
        workers: 1,
      });
      await report(running, { type: 'success' });
      await master.call('DELETE', `/api/jobs/${running}`);
      const left = await master.redis.redis.keys('{jq}:job:*');
      expect(left).toEqual([]);
    });

    it('is an end that polls learn of', async () => {
      const id = await die();
      await master.call('POST', `/api/jobs/${id}/retry`);
      const polling = master.call('GET', `/job/${id}/polling?timeout=60`);
      await until(() => master.redis.redis.hexists(`{jq}:job:${id}`, 'awaited'));
      await master.call('DELETE', `/api/jobs/${id}`);
      await expect(polling).resolves.toMatchObject({ status: 404 });
    });
  });

  describe('dead letters', () => {
    it('are requeued or discarded one by one, and no other jobs are', async () => {
      const [one, other] = [await die({ name: 'a' }), await die({ name: 'b' })];
      const queued = await master.enqueue();
      for (const [method, path] of [
        ['POST', `/api/dead-letters/${queued}/requeue`],
        ['DELETE', `/api/dead-letters/${queued}`],
      ] as const) {
        await expect(master.call(method, path)).resolves.toMatchObject({
          status: 409,
          body: { code: 'NOT_DEAD' },
        });
      }
      const listed = await get('/api/dead-letters?name=a');
      expect(listed['jobs']).toMatchObject([{ id: one, message: 'boom' }]);
      await expect(statusOf('POST', `/api/dead-letters/${one}/requeue`)).resolves.toBe(204);
      await expect(statusOf('DELETE', `/api/dead-letters/${other}`)).resolves.toBe(204);
      await expect(get('/api/counts')).resolves.toMatchObject({ queued: 2, error: 0 });
    });

    it('are requeued and discarded by name, the oldest first, so many at a time', async () => {
      const ids = [];
      for (let i = 0; i < 4; i++) ids.push(await die({ name: 'a' }));
      const other = await die({ name: 'b' });
      const clear = async (method: string, path: string) => (await master.call(method, path)).body;
      await expect(clear('POST', '/api/dead-letters/requeue?name=a&limit=2')).resolves.toEqual({
        count: 2,
        more: true,
      });
      await expect(master.job(ids[0] ?? '')).resolves.toMatchObject({ body: { status: 'queued' } });
      await expect(clear('DELETE', '/api/dead-letters?name=a')).resolves.toEqual({ count: 2, more: false });
      await expect(master.job(ids[3] ?? '')).resolves.toMatchObject({ status: 404 });
      await expect(master.job(other)).resolves.toMatchObject({ body: { status: 'error' } });
      await expect(clear('DELETE', '/api/dead-letters')).resolves.toEqual({ count: 1, more: false });
      await expect(clear('POST', '/api/dead-letters/requeue')).resolves.toEqual({ count: 0, more: false });
    });

    it('go back as far as the queue has room', async () => {
      const small = await master.another({ maxQueued: 2 });
      for (let i = 0; i < 3; i++) await die();
      const requeue = () => small.call('POST', '/api/dead-letters/requeue');
      await expect(requeue()).resolves.toMatchObject({ body: { count: 2, more: true } });
      await expect(requeue()).resolves.toMatchObject({ status: 429, body: { code: 'QUEUE_FULL' } });
    });
  });

  it('list workers and what they have, and names with their counts', async () => {
    const pushed = await master.register({
      name: 'far',
      max_jobs: 3,
      url: 'http://127.0.0.1:1',
      names: ['x'],
    });
    const id = await master.enqueue({ name: 'é' });
    await pull();
    await master.enqueue({ name: 'é' });
    const workers = (await pages('/api/workers?limit=1', 'workers')).flat();
    expect(workers).toMatchObject([
      { id: pushed, name: 'far', max_jobs: 3, url: 'http://127.0.0.1:1', state: 'live', running: 0 },
      { id: worker, running: 1 },
    ]);
    await expect(get(`/api/workers/${worker}`)).resolves.toMatchObject({ jobs: [id] });
    await expect(get(`/api/workers/${pushed}`)).resolves.toMatchObject({ names: ['x'], jobs: [] });
    await expect(statusOf('GET', '/api/workers/x')).resolves.toBe(404);
    const names = (await pages('/api/names?limit=1', 'names')).flat();
    expect(names).toEqual([{ name: 'é', queued: 1, retrying: 0, error: 0, done: 0 }]);
  });

  it('tell when a worker is suspect', async () => {
    const gone = await master.register({ url: 'http://127.0.0.1:1' });
    await master.enqueue();
    await eventually(async () => expect((await get(`/api/workers/${gone}`))['state']).not.toBe('live'));
    await expect(get(`/api/workers/${gone}`)).resolves.toMatchObject({ failures: expect.any(Number) });
  });
});
