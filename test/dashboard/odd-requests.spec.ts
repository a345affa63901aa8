import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import { DashboardModule, type AuditEvent } from 'nestjs-gearmonkey/dashboard';
import type { ActReply, BulkView } from '../../lib/dashboard/api.js';
import { FunctionReads } from '../../lib/dashboard/function-reads.js';
import { until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

/** Of lists in each other: more than JSON can be made of. */
const DEPTH = 20_000;
const ROOT = { name: 'root', view: true, act: true } as const;

/** A body whose part `name` is that deep, within what bodies may have. */
function deepIn(body: object, name: string, around: (deep: string) => string = (deep) => deep): string {
  const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
  return `${JSON.stringify(body).slice(0, -1)},"${name}":${around(deep)}}`;
}

describe('a request of a program, not of the page,', () => {
  const apps = useServedApps();
  const server = useRedisServer();
  const events: AuditEvent[] = [];
  const hear = (event: unknown) => void events.push(event as AuditEvent);
  afterEach(() => {
    unsubscribe('gearmonkey:audit', hear);
    events.length = 0;
  });

  async function serve(connection = 'memory:') {
    const { app, base } = await apps.serve('express', {
      imports: [GearMonkeyModule.forRoot({ connection }), DashboardModule.forRoot({ auth: () => ROOT })],
    });
    subscribe('gearmonkey:audit', hear);
    const act = (body: unknown) => ask(base, '/api/act', { body });
    return { app, base, act, client: app.get(GearMonkeyClient) };
  }

  it('with parts of any depth that an action does not have is answered, and an event', async () => {
    const { act, client } = await serve();
    const { status } = await act(deepIn({ action: 'pause', fn: 'a' }, 'row', (deep) => `{"x":${deep}}`));
    expect(status).toBe(200);
    await expect(client.isPaused('a')).resolves.toBe(true);
    expect(events).toMatchObject([{ action: 'pause', fn: 'a', count: 1 }]);
  });

  it.each(['which', 'row', 'options'])('with a list in `%s` is refused', async (name) => {
    const { act, client } = await serve();
    const part = { which: 'group', row: 'key', options: 'priority' }[name];
    const { status, text } = await act(
      deepIn({ action: 'pause', fn: 'a' }, name, (deep) => `{"${part}":${deep}}`),
    );
    expect({ status, text }).toMatchObject({ status: 400, text: expect.stringContaining(`${name}.${part}`) });
    await expect(client.isPaused('a')).resolves.toBe(false);
    expect(events).toEqual([]);
  });

  it('leaves no run behind that never ends', async () => {
    const { act, base } = await serve();
    const body = { action: 'cancel', fn: 'a', which: { state: 'waiting', x: [[]] } };
    for (let made = 0; made < 11; made++) {
      const { bulk } = await json<ActReply>(base, '/api/act', { body });
      await until(async () => {
        const runs = await json<BulkView[]>(base, '/api/bulks');
        return runs.find(({ id }) => id === bulk)?.state === 'done';
      });
    }
    expect((await act(body)).status).toBe(200);
  });

  it('cancels all jobs, also those of a host whose clock is an hour ahead', async () => {
    const { base, client } = await serve(server.url);
    const [, ...later] = await client.runMany('late', [1, 2, 3]);
    const created = Date.now() + 3_600_000;
    for (const { id } of later) await server.redis.hset(`job:late:${id}`, { created });
    const body = { action: 'cancel', fn: 'late', which: { state: 'waiting' } };
    const { bulk } = await json<ActReply>(base, '/api/act', { body });
    const run = await until(async () => {
      const view = await json<BulkView>(base, `/api/bulk?id=${bulk}`);
      return view.ended !== undefined && view;
    });
    expect(run).toMatchObject({ done: 3, state: 'done' });
    expect((await client.list('late', { state: 'waiting' })).jobs).toEqual([]);
  });

  it('counts a job once that is cancelled twice', async () => {
    const { base, client } = await serve();
    const { id } = await client.run('a', 1);
    const body = { action: 'cancel', fn: 'a', id };
    expect(await json<ActReply>(base, '/api/act', { body })).toMatchObject({ changed: true });
    expect(await json<ActReply>(base, '/api/act', { body })).toMatchObject({ changed: false });
    expect(events).toMatchObject([{ count: 1 }, { count: 0 }]);
    await expect(client.cancel('a', id)).resolves.toBe(true);
  });

  it.each([[[]], [{ rate: null }], [{ x: 1 }], [{ rate: [] }], [{ concurrency: 'x' }], [{}]])(
    'sets no limit of %j',
    async (limit) => {
      const { act, app } = await serve();
      await app.get(GearMonkeyWorkers).add('a', () => null, { limit: { concurrency: 1 } });
      expect((await act({ action: 'limit-set', fn: 'a', limit })).status).toBe(400);
    },
  );

  it('is an event with no more of a limit than its numbers', async () => {
    const { act } = await serve();
    const limit = { concurrency: { secret: 'x' }, rate: { max: 1, per: ['x'], more: 'x' } };
    expect((await act({ action: 'limit-set', fn: 'a', limit })).status).toBe(400);
    expect(events).toMatchObject([{ action: 'limit-set', limit: {}, count: 0 }]);
    expect(JSON.stringify(events)).not.toContain('"x"');
  });

  it.each(['12345678901234567890', '{"a":[-9007199254740993]}', '1e400'])(
    'takes no input whose number would be another one: %s',
    async (input) => {
      const { act, client } = await serve();
      const { id } = await client.run('a', 1, { delay: '1h' });
      for (const body of [
        { action: 'run', fn: 'a', input },
        { action: 'edit', fn: 'a', id, input },
      ])
        await expect(act(body)).resolves.toMatchObject({ status: 400 });
      const kept = '{"id":9007199254740992,"text":"12345678901234567890","\\"":0.1234567890123456789}';
      await expect(act({ action: 'run', fn: 'a', input: kept })).resolves.toMatchObject({ status: 200 });
    },
  );

  it.each(['', null, 7])('does nothing to the jobs of the group %j', async (group) => {
    const { act } = await serve();
    const body = { action: 'retry', fn: 'a', which: { state: 'failed', group } };
    expect((await act(body)).status).toBe(400);
  });

  it.each([[{ toString: 1 }], [['1']], [1]])('watches no job %j', async (job) => {
    const { base } = await serve();
    const topics = encodeURIComponent(JSON.stringify([{ job, fn: 'a' }]));
    expect((await ask(base, `/api/live?topics=${topics}`)).status).toBe(400);
  });

  it('reads sums of spans one after the other, function by function, and not many of them', async () => {
    const { app, client } = await serve();
    for (const fn of ['a', 'b', 'c']) await client.run(fn, 1);
    let [now, most] = [0, 0];
    const statistics = client.statistics.bind(client);
    client.statistics = async (...args) => {
      most = Math.max(most, (now += 1));
      return statistics(...args).finally(() => void (now -= 1));
    };
    const reads = app.get(FunctionReads, { strict: false });
    const minutes = Array.from({ length: 6 }, (_, index) => new Date(Date.now() - (index + 1) * 60_000));
    const asked = await Promise.allSettled(
      minutes.map((from) => reads.statistics(ROOT, { by: 'minute', from: from.toISOString() })),
    );
    expect(asked.map(({ status }) => status)).toEqual([...Array<string>(5).fill('fulfilled'), 'rejected']);
    expect(asked[5]).toMatchObject({ reason: { status: 503, code: 'BUSY' } });
    expect(most).toBe(1);
    await expect(reads.statistics(ROOT, { by: 'minute' })).resolves.toEqual(expect.any(Array));
  });

  it('reads statistics by minute of three hours at most, and once for all who ask in a minute', async () => {
    const { app, base, client } = await serve();
    await client.run('a', 1);
    const asked = (hours: number, by: string) =>
      ask(
        base,
        `/api/statistics?fn=a&by=${by}&from=${new Date(Date.now() - hours * 3_600_000).toISOString()}`,
      );
    await expect(asked(4, 'minute')).resolves.toMatchObject({ status: 400 });
    expect([(await asked(2.9, 'minute')).status, (await asked(72, 'hour')).status]).toEqual([200, 200]);
    const reads = app.get(FunctionReads, { strict: false });
    const read = jest.spyOn(client, 'statistics');
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000;
    const times = Array.from({ length: 5 }, (_, index) => new Date(minute + index).toISOString());
    await Promise.all(times.map((from) => reads.statistics(ROOT, { fn: 'a', by: 'minute', from })));
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('for schedules that another program has written wrongly says so', async () => {
    const { act, base, client } = await serve(server.url);
    await client.schedules.put('a', { id: 's', every: '1h' });
    await client.schedules.put('b', { id: 't', every: '1h' });
    const [key] = await server.redis.keys('schedules:a*');
    await server.redis.hset(String(key), { 'spec:s': '{', s: '{' });
    for (const action of ['schedule-pause', 'schedule-resume'])
      expect((await act({ action, fn: 'a', schedule: 's' })).status).toBe(409);
    await server.redis.set('schedules', 'x');
    expect((await ask(base, '/api/schedules?fn=b')).status).toBe(503);
  });
});
