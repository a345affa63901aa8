import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers, UnrecoverableError } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { ActReply, FailuresView } from '../../lib/dashboard/api.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { json } from './http.js';

/** Failed jobs of a function, every second one of each of two errors. */
const FAILED = `
for id = 1, tonumber(ARGV[1]) do
  local error = cjson.encode({ name = 'Error', message = id % 2 == 0 and 'even' or 'odd' })
  local at = string.format('%.0f', tonumber(ARGV[2]) + id)
  redis.call('HSET', 'job:' .. KEYS[1] .. ':' .. id, 'status', 'error', 'input', '1', 'error', error, 'finished', at)
  redis.call('ZADD', 'ended:' .. KEYS[1] .. ':failed', at, id)
end
redis.call('ZADD', 'functions', '1', KEYS[1])`;

describe('failures in the dashboard', () => {
  const redis = useRedis();
  const apps = useServedApps();

  const fail = (fn: string, jobs: number) => redis.redis.eval(FAILED, 1, fn, jobs, Date.now() - jobs);

  async function serve(connection = redis.url) {
    const { app, base } = await apps.serve('express', {
      imports: [GearMonkeyModule.forRoot({ connection }), DashboardModule.forRoot()],
    });
    const fn = redis.fn();
    const failures = () => json<FailuresView>(base, `/api/failures?fn=${fn}`);
    const act = (body: object) => json<ActReply>(base, '/api/act', { body: { fn, ...body } });
    return { app, fn, failures, act };
  }

  it('say of how many jobs the groups are, and how many there are', async () => {
    const { fn, failures, act } = await serve();
    await fail(fn, 1200);
    const { groups, looked, total } = await failures();
    expect([groups.map(({ count }) => count), looked, total]).toEqual([[500, 500], 1000, 1200]);
    const which = { state: 'failed', group: groups[0]?.group };
    expect(await act({ action: 'retry', which, dry: true })).toMatchObject({
      ...{ count: 500, atLeast: true, looked: 1000 },
    });
  });

  it('say that they are of all jobs where they are', async () => {
    const { fn, failures, act } = await serve();
    await fail(fn, 1000);
    const { groups, looked, total } = await failures();
    expect([looked, total]).toEqual([1000, 1000]);
    const which = { state: 'failed', group: groups[0]?.group };
    expect(await act({ action: 'retry', which, dry: true })).toEqual({ ok: true, count: 500 });
  });

  it.each([
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ])('of %s go by the innermost cause, also to retry them', async (_, url) => {
    const { app, fn, failures, act } = await serve(url());
    const client = app.get(GearMonkeyClient);
    const disk = () => Object.assign(new RangeError('no disk 7'), { code: 'DISK' });
    await app.get(GearMonkeyWorkers).add(fn, (wrapped) => {
      if (!wrapped) throw new UnrecoverableError('not mine', { cause: new TypeError('no name') });
      throw new UnrecoverableError('no way', { cause: new Error('inside', { cause: disk() }) });
    });
    for (const wrapped of [true, true, false])
      await (await client.run(fn, wrapped)).result().catch((error: unknown) => error);
    const { groups } = await failures();
    expect(groups).toMatchObject([
      { name: 'RangeError', code: 'DISK', message: 'no disk <n>', example: 'no disk 7', count: 2 },
      { name: 'TypeError', message: 'no name', count: 1 },
    ]);
    const which = { state: 'failed', group: groups[0]?.group };
    expect(await act({ action: 'discard', which, dry: true })).toMatchObject({ count: 2 });
  });
});
