import { beforeEach, describe, expect, it } from '@jest/globals';
import { networkOf } from '../../../lib/net/network-of.js';
import { eventually } from '../../support/until.js';
import { useMaster } from './use-master.js';

const WORKER = { name: 'w', max_jobs: 3 };
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe('what one client may have', () => {
  const tokens = { worker: ['first', 'second'], pusher: ['pusher'], admin: ['admin'] };
  const master = useMaster({ tokens });
  beforeEach(() => master.redis.redis.flushall());

  const refused = (option: string) => ({
    status: 429,
    body: { code: 'CLIENT_LIMIT', message: expect.stringContaining(option) as unknown },
  });

  it('are so many workers, by token; those that left make room', async () => {
    const small = await master.another({ maxWorkersPerClient: 2 });
    const register = (token: string) => small.post('/worker', WORKER, bearer(token));
    await expect(register('first')).resolves.toMatchObject({ status: 201 });
    const { body } = await register('first');
    const third = await register('first');
    expect(third).toMatchObject(refused('maxWorkersPerClient'));
    expect(third.headers.get('retry-after')).toBe('1');
    await expect(register('second')).resolves.toMatchObject({ status: 201 });
    const { worker_id: worker } = body as { worker_id: string };
    await small.call('DELETE', '/worker', { worker, ...bearer('first') });
    await expect(register('first')).resolves.toMatchObject({ status: 201 });
    const { workers } = (await small.call('GET', '/api/workers', bearer('admin'))).body as {
      workers: { id: string }[];
    };
    await Promise.all(workers.map(({ id }) => small.call('DELETE', `/api/workers/${id}`, bearer('admin'))));
    await expect(master.redis.redis.keys('{jq}:client-*')).resolves.toEqual([]);
  });

  it('are workers for so many jobs at a time', async () => {
    const small = await master.another({ maxJobsPerClient: 5 });
    const register = (maxJobs: number) =>
      small.post('/worker', { ...WORKER, max_jobs: maxJobs }, bearer('first'));
    await expect(register(3)).resolves.toMatchObject({ status: 201 });
    await expect(register(3)).resolves.toMatchObject(refused('maxJobsPerClient'));
    await expect(register(2)).resolves.toMatchObject({ status: 201 });
    await expect(register(1)).resolves.toMatchObject(refused('maxJobsPerClient'));
  });

  it('are so many pulls and polls that wait', async () => {
    const small = await master.another({ maxPollsPerClient: 1 });
    const { body } = await small.post('/worker', WORKER, bearer('first'));
    const { worker_id: worker } = body as { worker_id: string };
    const pull = (token: string, signal?: AbortSignal) =>
      small.call('POST', `/worker/pull?timeout=${signal ? 60 : 0}`, {
        worker,
        ...bearer(token),
        ...(signal ? { signal } : {}),
      });
    const abort = new AbortController();
    const waiting = expect(pull('first', abort.signal)).rejects.toThrow('abort');
    await eventually(async () => expect(await pull('first')).toMatchObject(refused('maxPollsPerClient')));
    await expect(pull('second')).resolves.toMatchObject({ status: 204 });
    abort.abort();
    await waiting;
    await eventually(async () => expect(await pull('first')).toMatchObject({ status: 204 }));
  });

  it('is by address where there are no tokens', async () => {
    const small = await master.another({ maxWorkersPerClient: 1, tokens: {} });
    await expect(small.post('/worker', WORKER)).resolves.toMatchObject({ status: 201 });
    await expect(small.post('/worker', WORKER)).resolves.toMatchObject(refused('maxWorkersPerClient'));
    await expect(master.redis.redis.hkeys('{jq}:client-workers')).resolves.toEqual(['127.0.0.1']);
  });
});

describe('an address', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::7', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('of %j counts as %j', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
