import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { until } from '../../support/until.js';
import { useMaster } from './use-master.js';

const JOB = { name: 'mail', argument: { to: 'a@b' }, max_retry: 3 };

describe('Idempotency-Key', () => {
  const master = useMaster({ forgetKey: '1h' });
  beforeEach(() => master.redis.redis.flushall());

  const post = async (key: string, job: object = JOB, http: Pick<typeof master, 'post'> = master) => {
    const { status, body } = await http.post('/job', job, { headers: { 'idempotency-key': key } });
    return { status, ...(body as { job_id?: string; code?: string }) };
  };
  const jobs = async () => (await master.redis.redis.keys('{jq}:job:*')).length;

  it.each(['a b', 'k'.repeat(256), '\u00e9', 'a\tb'])('is refused when it is %j', async (key) => {
    await expect(post(key)).resolves.toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
    await expect(jobs()).resolves.toBe(0);
  });

  it('makes one job of many requests, also at once and over two masters', async () => {
    const other = await master.another();
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) => post('once', JOB, i % 2 === 0 ? master : other)),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(replies.map(({ job_id }) => job_id)).size).toBe(1);
    await expect(jobs()).resolves.toBe(1);
  });

  it('knows the same job in JSON, with defaults left out, and by numbers of any width', async () => {
    const first = await post('k', { ...JOB, priority: 0, timeout: 30 });
    await expect(post('k')).resolves.toEqual(first);
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
    const { bytes } = await master.call('POST', '/job', { headers, body: JSON.stringify(JOB) });
    expect(JSON.parse(bytes.toString())).toEqual({ job_id: first.job_id });
  });

  it.each([
    ['name', { name: 'other' }],
    ['argument', { argument: {} }],
    ['priority', { priority: 1 }],
    ['max_retry', { max_retry: 4 }],
    ['keep_result', { keep_result: true }],
    ['timeout', { timeout: 31 }],
  ])('answers 422 to another %s, and enqueues nothing', async (_, change) => {
    await post('k');
    await expect(post('k', { ...JOB, ...change })).resolves.toMatchObject({
      status: 422,
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
    await expect(jobs()).resolves.toBe(1);
  });

  it('still gives the job when the queue is full, when the job has ended, and when it was cancelled', async () => {
    const small = await master.another({ maxQueued: 1 });
    const first = await post('k', JOB, small);
    await expect(post('k', JOB, small)).resolves.toEqual(first);
    await expect(post('other', JOB, small)).resolves.toMatchObject({ status: 429 });
    await master.call('DELETE', `/job/${first.job_id}`);
    await expect(post('k', JOB, small)).resolves.toEqual(first);
    await expect(jobs()).resolves.toBe(0);
  });

  it('is forgotten in time, and is no part of a key in Redis', async () => {
    await post('secret');
    const [key = ''] = await master.redis.redis.keys('{jq}:key:*');
    expect(key).toMatch(/^\{jq\}:key:[0-9a-f]{64}$/);
    const ttl = await master.redis.redis.pttl(key);
    expect(ttl).toBeGreaterThan(3_500_000);
    expect(ttl).toBeLessThanOrEqual(3_600_000);
  });

  it('makes it safe to ask again when Redis broke in the middle', async () => {
    const { redis } = master.redis;
    await redis.client('PAUSE', 300, 'WRITE');
    const broken = post('k');
    await until(async () => /cmd=eval/i.test(String(await redis.client('LIST'))));
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect(broken).resolves.toMatchObject({ status: 503 });
    await redis.client('UNPAUSE');
    const replies = [await post('k'), await post('k')];
    expect(replies[0]).toMatchObject({ status: 201 });
    expect(replies[1]).toEqual(replies[0]);
    await expect(jobs()).resolves.toBe(1);
  });

  it('is not needed for reports: the last one taken may come again', async () => {
    const worker = await master.register();
    const id = await master.enqueue();
    await master.pull(worker);
    const report = (attempt?: number) =>
      master.call('POST', '/done', {
        worker,
        body: encode({
          job_id: id,
          type: 'failure',
          reason: 'other',
          should_retry: true,
          message: 'm',
          ...(attempt === undefined ? {} : { attempt }),
        }),
      });
    for (const attempt of [1, 1, undefined]) {
      await expect(report(attempt)).resolves.toMatchObject({ status: 204 });
    }
    await expect(report(2)).resolves.toMatchObject({ status: 409 });
    await expect(master.redis.redis.hget(`{jq}:job:${id}`, 'failures')).resolves.toBe('1');
    await master.call('POST', `/api/jobs/${id}/retry`);
    const other = await master.register();
    await expect(master.pull(other)).resolves.toMatchObject({ status: 200 });
    await expect(report(1)).resolves.toMatchObject({ status: 204 });
    await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'running', worker_id: other } });
  });
});
