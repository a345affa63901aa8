import { describe, expect, it } from '@jest/globals';
import { failure, JOB, useRoutes } from './use-routes.js';

describe('replies to any request', () => {
  const { master } = useRoutes();

  it('are 404 without a route, and 200 for liveness and readiness', async () => {
    await expect(master.call('GET', '/nothing')).resolves.toMatchObject({
      status: 404,
      body: failure('NOT_FOUND'),
    });
    await expect(master.call('GET', '/health/live')).resolves.toMatchObject({ status: 200 });
    await expect(master.call('GET', '/health/ready')).resolves.toMatchObject({ status: 200 });
  });

  it('are 429 with Retry-After when the queue is full', async () => {
    const small = await master.another({ maxQueued: 1 });
    await small.enqueue();
    const reply = await small.post('/job', JOB);
    expect(reply).toMatchObject({ status: 429, body: failure('QUEUE_FULL') });
    expect(reply.headers.get('retry-after')).toBe('1');
  });

  it('depend on the role of the token, once there is one', async () => {
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
