import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardUser } from 'nestjs-gearmonkey/dashboard';
import { EMPTY } from 'rxjs';
import type { ActReply, BulkView, FailuresView, FunctionView } from '../../lib/dashboard/api.js';
import { Snapshots } from '../../lib/dashboard/snapshots.js';
import { CommandTrace, countCalls } from '../support/command-trace.js';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { json } from './http.js';

/** A time that stands still until it is moved. */
function useStillTime() {
  // A fraction would round differently after each move.
  let now = Math.ceil(performance.now());
  beforeEach(() => {
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => void jest.restoreAllMocks());
  return { move: (ms: number) => void (now += ms) };
}

describe('snapshots', () => {
  const time = useStillTime();

  it('ask each question of an instance once in two seconds, and at once after a change', async () => {
    const snapshots = new Snapshots();
    let reads = 0;
    const take = (i: string, question: string) => snapshots.take(i, [question], async () => ++reads);
    expect(await Promise.all([take('a', 'x'), take('a', 'x'), take('a', 'y'), take('b', 'x')])).toEqual([
      ...[1, 1, 2, 3],
    ]);
    time.move(2000);
    expect(await take('a', 'x')).toBe(1);
    snapshots.drop('a');
    expect([await take('a', 'x'), await take('b', 'x')]).toEqual([4, 3]);
    time.move(2001);
    expect([await take('a', 'x'), await take('b', 'x')]).toEqual([5, 6]);
  });

  it('give an error to those who wait for it only', async () => {
    const snapshots = new Snapshots();
    const fail = () => snapshots.take('a', ['x'], () => Promise.reject(new Error('down')));
    const both = await Promise.allSettled([fail(), fail()]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await snapshots.take('a', ['x'], async () => 1)).toBe(1);
  });
});

describe('the dashboard', () => {
  const redis = useRedis();
  const apps = useServedApps();
  const time = useStillTime();

  async function serve(options: { workers?: false } = {}) {
    const [fn, hidden] = [redis.fn(), redis.fn()];
    const users: Record<string, DashboardUser> = {
      root: { name: 'root', view: true, act: true },
      eye: { name: 'eye', view: (one) => one === fn, act: false },
    };
    const { app, base } = await apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection: redis.url, ...options }),
        DashboardModule.forRoot({ auth: ({ headers }) => users[String(headers['x-user'])] }),
      ],
    });
    const get = <T>(path: string, user = 'root') =>
      json<T>(base, `/api/${path}`, { headers: { 'x-user': user } });
    const waiting = async (user?: string) =>
      Object.fromEntries(
        (await get<FunctionView[]>('overview', user)).map((one) => [one.fn, one.waiting.normal]),
      );
    const act = (body: object) =>
      json<ActReply>(base, '/api/act', { headers: { 'x-user': 'root' }, body: { fn, ...body } });
    const client = app.get(GearMonkeyClient);
    return { fn, hidden, client, workers: app.get(GearMonkeyWorkers), get, waiting, act };
  }

  it('reads the overview once in two seconds for all users, who see of it what they may', async () => {
    const { fn, hidden, client, waiting } = await serve();
    for (const one of [fn, hidden]) await client.run(one, 1);
    await redis.redis.zadd('functions', Date.now(), fn, Date.now(), hidden);
    expect(await waiting()).toMatchObject({ [fn]: 1, [hidden]: 1 });
    await client.run(fn, 2);
    expect(await waiting('eye')).toEqual({ [fn]: 1 });
    time.move(2001);
    expect(await waiting('eye')).toEqual({ [fn]: 2 });
  });

  it.each([
    'overview',
    'limits?fn=FN',
    'failures?fn=FN',
    'workers',
    'workers?fn=FN',
    'schedules',
    'schedules?fn=FN',
    'statistics?by=hour',
    'statistics?by=hour&fn=FN',
    'job?fn=FN&id=ID',
  ])('asks for %s of twenty pages and two users as often as of two', async (view) => {
    const { fn, hidden, client, get } = await serve({ workers: false });
    const { id } = await client.run(fn, 1);
    await client.run(hidden, 1);
    await client.recur(fn, { id: fn, every: '1h' });
    await redis.redis.zadd('functions', Date.now(), fn, Date.now(), hidden);
    const path = view.replace('FN', fn).replace('ID', id);
    const trace = await CommandTrace.start(redis.redis);
    const askedBy = async (pages: number) => {
      time.move(60_001);
      await trace.take();
      const users = Array.from({ length: pages }, (_, page) => (page % 2 === 0 ? 'root' : 'eye'));
      await Promise.all(users.map((user) => get(path, user)));
      return countCalls(await trace.take());
    };
    // Scripts are loaded, and users have been seen who may see less.
    await askedBy(2);
    const asked = await askedBy(2);
    expect(Object.keys(asked)).not.toEqual([]);
    expect(await askedBy(20)).toEqual(asked);
    trace.stop();
  });

  it('shows at once what an action has changed', async () => {
    const { fn, client, waiting, act } = await serve();
    await client.run(fn, 1);
    await redis.redis.zadd('functions', Date.now(), fn);
    expect(await waiting('eye')).toEqual({ [fn]: 1 });
    await act({ action: 'run', dry: true });
    await client.run(fn, 2);
    expect(await waiting('eye')).toEqual({ [fn]: 1 });
    await act({ action: 'run', input: '3' });
    expect(await waiting('eye')).toEqual({ [fn]: 3 });
  });

  it('shows at once what a run over many jobs has changed', async () => {
    const { fn, client, workers, get, act } = await serve();
    await workers.add(fn, () => Promise.reject(new Error('no disk')), { retry: { attempts: 1 } });
    await (await client.run(fn, 1)).result().catch((error: unknown) => error);
    const failures = () => get<FailuresView>(`failures?fn=${fn}`);
    const { passed, open } = gate();
    const discard = client.discard.bind(client);
    jest.spyOn(client, 'discard').mockImplementation((...which) => ({
      ...{ progress$: EMPTY, cancel: () => undefined },
      done: passed.then(() => discard(...which).done),
    }));
    const { bulk } = await act({ action: 'discard', which: { state: 'failed' } });
    expect(await failures()).toMatchObject({ total: 1 });
    open();
    await until(async () => (await get<BulkView>(`bulk?id=${bulk}`)).ended !== undefined);
    expect(await failures()).toEqual({ groups: [], looked: 0, total: 0 });
  });
});
