import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardRequest } from 'nestjs-gearmonkey/dashboard';
import type { FunctionView, LiveEvents, ScheduleView, WorkersView } from '../../lib/dashboard/api.js';
import { until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { json, listen } from './http.js';

/** Rights to the functions whose names begin with `mail`. */
const RIGHTS = '~*:mail* ~functions ~schedules ~wake:* ~control:* &* +@all -@dangerous +info +keys';
const TOPIC = { overview: 'default' };

describe('a function that Redis lets the app read nothing of', () => {
  const redis = useRedisServer();
  const apps = useServedApps();

  /** An app whose Redis user has these rights: root may view all functions, eve may view `mail` and those of her own. */
  async function serve(rights = RIGHTS) {
    await redis.redis.flushall();
    await redis.redis.acl('SETUSER', 'app', 'reset', 'on', '>secret', ...rights.split(' '));
    const isEves = (fn: string) => /^(?:mail|eve)/.test(fn);
    const auth = ({ headers }: DashboardRequest) => {
      const isEve = headers['x-user'] === 'eve';
      return { name: isEve ? 'eve' : 'root', view: isEve ? isEves : true, act: false };
    };
    const { app, base } = await apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({
          connection: `redis://app:secret@127.0.0.1:${redis.port}`,
          workers: false,
        }),
        DashboardModule.forRoot({ auth }),
      ],
    });
    const client = app.get(GearMonkeyClient);
    await client.run('mail', 1);
    await redis.redis.zadd('functions', Date.now(), 'mail', Date.now(), 'payroll');
    const as = (user: string) => ({ 'x-user': user });
    return {
      client,
      get: <T>(path: string, user = 'root') => json<T>(base, path, { headers: as(user) }),
      watch: (user: string, ...topics: object[]) => listen(base, topics, as(user)),
    };
  }

  type Stream = ReturnType<typeof listen>;
  const told = <Name extends keyof LiveEvents>({ events }: Stream, name: Name) =>
    events.flatMap((event) => (event.name === name ? [event.data as LiveEvents[Name]] : []));
  const overviewsOf = (stream: Stream, fn: string) =>
    told(stream, 'overview').flatMap(({ functions }) => functions.filter((one) => one.fn === fn));
  const waitingOf = (stream: Stream) => overviewsOf(stream, 'mail').at(-1)?.waiting.normal;

  it('is shown with the reason, and others as they are', async () => {
    const { get } = await serve();
    const all = await get<FunctionView[]>('/api/overview');
    expect(all).toMatchObject([
      { fn: 'mail', waiting: { normal: 1 } },
      { fn: 'payroll', refused: expect.stringContaining('job:payroll:') },
    ]);
    expect(all[0]).not.toHaveProperty('refused');
    expect((await get<WorkersView>('/api/workers')).functions).toEqual([
      { fn: 'mail', workers: 0, running: 0 },
    ]);
    await expect(get('/api/statistics')).resolves.toEqual(expect.any(Array));
  });

  it('does not hide schedules of others', async () => {
    const { get, client } = await serve();
    await client.schedules.put('mail', { id: 'daily', every: '1d' });
    await redis.redis.hset('schedules', 'monthly', 'payroll');
    const ids = (await get<ScheduleView[]>('/api/schedules', 'eve')).map(({ id }) => id);
    expect(ids).toEqual(['daily']);
  });

  it('is told to who may view it, once, while updates of others go on', async () => {
    const { client, watch } = await serve();
    const [root, eve] = [watch('root', TOPIC), watch('eve', TOPIC)];
    await until(() => waitingOf(root) === 1 && waitingOf(eve) === 1, { timeout: 30_000 });
    await client.run('mail', 2);
    await until(() => waitingOf(root) === 2 && waitingOf(eve) === 2, { timeout: 30_000 });
    expect(overviewsOf(root, 'payroll')).toMatchObject([{ refused: expect.stringContaining('payroll') }]);
    expect(JSON.stringify(eve.events)).not.toContain('payroll');
    expect([...told(root, 'trouble'), ...told(eve, 'trouble')]).toEqual([]);
    for (const stream of [root, eve]) stream.close();
  });

  it('stops no updates of other pages when it is asked for by its name, nor does a job of it', async () => {
    const { client, watch } = await serve();
    const eve = watch('eve', { ...TOPIC, fns: ['eve.x'] }, { job: '5', fn: 'eve.x' });
    await until(() => told(eve, 'job').length === 1 && told(eve, 'overview').length === 1, {
      timeout: 30_000,
    });
    const root = watch('root', TOPIC);
    await until(() => waitingOf(root) === 1, { timeout: 30_000 });
    await client.run('mail', 2);
    await until(() => waitingOf(root) === 2, { timeout: 30_000 });
    expect(told(root, 'trouble')).toEqual([]);
    expect(overviewsOf(eve, 'eve.x')).toMatchObject([{ refused: expect.stringContaining('eve.x') }]);
    expect(overviewsOf(eve, 'eve.x')[0]).not.toHaveProperty('unknown');
    expect(told(eve, 'job')).toMatchObject([
      { fn: 'eve.x', job: null, refused: expect.stringContaining('eve.x') },
    ]);
    for (const stream of [root, eve]) stream.close();
  });

  it('is no matter of who watches single functions, if the app may not list their names', async () => {
    const { client, watch } = await serve(RIGHTS.replace('~functions ', ''));
    const root = watch('root', TOPIC);
    await until(() => told(root, 'trouble').length > 0, { timeout: 30_000 });
    const eve = watch('eve', { ...TOPIC, fns: ['mail'] });
    await until(() => waitingOf(eve) === 1, { timeout: 30_000 });
    await client.run('mail', 2);
    await until(() => waitingOf(eve) === 2, { timeout: 30_000 });
    expect(told(root, 'trouble')[0]?.error.message).toContain('functions');
    expect(told(eve, 'trouble')).toEqual([]);
    for (const stream of [root, eve]) stream.close();
  });

  it('is not named to others in an outage, of which only those are told who watch the instance', async () => {
    const { watch } = await serve(`${RIGHTS} ~*:payroll*`);
    const topics = [
      { ...TOPIC, fns: ['payroll'] },
      { ...TOPIC, fns: ['mail'] },
    ];
    const root = watch('root', ...topics);
    const [eve, other] = [watch('eve', { ...TOPIC, fns: ['mail'] }), watch('eve')];
    await until(() => waitingOf(root) === 1 && waitingOf(eve) === 1, { timeout: 30_000 });
    await redis.redis.client('PAUSE', 60_000, 'WRITE');
    try {
      await until(() => told(root, 'trouble').length > 0 && told(eve, 'trouble').length > 0, {
        timeout: 30_000,
      });
    } finally {
      await redis.redis.client('UNPAUSE');
    }
    expect(told(eve, 'trouble')[0]?.error).toMatchObject({ code: 'CONNECTION' });
    expect(JSON.stringify(eve.events)).not.toContain('payroll');
    expect(other.events).toEqual([]);
    for (const stream of [root, eve, other]) stream.close();
  });
});
