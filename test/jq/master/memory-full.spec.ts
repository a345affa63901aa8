import { describe, expect, it } from '@jest/globals';
import { useMaster } from './use-master.js';

describe('a master whose Redis is full', () => {
  const master = useMaster();

  it('answers 503 to what needs memory, without a word of Redis, and lets what runs come to its end', async () => {
    const { redis } = master.redis;
    const id = await master.enqueue();
    const worker = await master.register();
    const running = await master.pull(worker);
    const job_id = (running.body as { id: string }).id;
    await redis.config('SET', 'maxmemory', '1');
    const reply = await master.post('/job', { name: 'mail', argument: {} });
    expect(reply).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(JSON.stringify(reply.body)).not.toMatch(/OOM|127\.0\.0\.1/);
    const done = { job_id, type: 'success' };
    await expect(master.post('/done', done, { worker })).resolves.toMatchObject({ status: 204 });
    await expect(master.job(id)).resolves.toMatchObject({ status: 200, body: { status: 'done' } });
    await redis.config('SET', 'maxmemory', '0');
    await expect(master.post('/job', { name: 'mail', argument: {} })).resolves.toMatchObject({ status: 201 });
  });
});
