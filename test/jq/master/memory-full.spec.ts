import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/until.js';
import { useMaster } from './use-master.js';

describe('a master whose Redis is full', () => {
  const master = useMaster();

  it('answers 503 to what needs memory, without details of Redis, and lets running jobs end', async () => {
    const { redis } = master.redis;
    const id = await master.enqueue();
    const worker = await master.register();
    const running = await master.pull(worker);
    const job_id = (running.body as { id: string }).id;
    const waiting = await master.enqueue();
    await redis.config('SET', 'maxmemory', '1');
    const reply = await master.post('/job', { name: 'mail', argument: {} });
    expect(reply).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(JSON.stringify(reply.body)).not.toMatch(/OOM|127\.0\.0\.1/);
    const done = { job_id, type: 'success' };
    await expect(master.post('/done', done, { worker })).resolves.toMatchObject({ status: 204 });
    await expect(master.job(id)).resolves.toMatchObject({ status: 200, body: { status: 'done' } });
    await expect(master.call('POST', '/worker/ping', { worker })).resolves.toMatchObject({ status: 204 });
    await expect(master.job(waiting)).resolves.toMatchObject({ body: { status: 'queued' } });
    await expect(master.pull(worker)).resolves.toMatchObject({ status: 200, body: { id: waiting } });
    await expect(master.post('/job', { name: 'mail', argument: {} })).resolves.toMatchObject({ status: 503 });
    await redis.config('SET', 'maxmemory', '0');
    await expect(master.post('/job', { name: 'mail', argument: {} })).resolves.toMatchObject({ status: 201 });
  });

  it('goes on to sweep, with a limit in use, until there is room again', async () => {
    const { redis } = master.redis;
    await redis.flushall();
    const http = await master.another({ tombstone: 1000, unreadResult: 100, silence: '1h' });
    await http.post('/constraints', { concurrency: 1 });
    const worker = await http.register({ max_jobs: 2 });
    const ids = [await http.enqueue(), await http.enqueue(), await http.enqueue()];
    await http.pull(worker);
    await http.pull(worker);
    await redis.config('SET', 'maxmemory', '1');
    const done = { job_id: ids[0], type: 'success' };
    await expect(http.post('/done', done, { worker })).resolves.toMatchObject({ status: 204 });
    await eventually(async () => expect(await redis.exists(`{jq}:job:${ids[0]}`)).toBe(0));
    await redis.config('SET', 'maxmemory', '0');
  });
});
