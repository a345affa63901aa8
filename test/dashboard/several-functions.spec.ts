import { describe, expect, it } from '@jest/globals';
import { defineLimit, GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardUser } from 'nestjs-gearmonkey/dashboard';
import type { ActReply, ApiError, BulkView, LimitView } from '../../lib/dashboard/api.js';
import { gate } from '../support/gate.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

describe('an action that concerns several functions', () => {
  const redis = useRedis();
  const apps = useServedApps();
  const servers: [string, () => string][] = [
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ];

  /** `tenant` sees and changes `mine` and `ours` only, `root` all. */
  async function serve(
    connection: string,
    names: readonly string[] = ['mine', 'ours', 'secret'].map((name) => redis.fn(name)),
  ) {
    const [mine, ours, secret] = names as [string, string, string];
    const isTheirs = (fn: string) => fn === mine || fn === ours;
    const users: Record<string, DashboardUser> = {
      tenant: { name: 'tenant', view: isTheirs, act: (_, fn) => isTheirs(fn) },
      viewer: { name: 'viewer', view: true, act: (_, fn) => isTheirs(fn) },
      root: { name: 'root', view: true, act: true },
    };
    const { app, base } = await apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection }),
        DashboardModule.forRoot({ auth: ({ headers }) => users[String(headers['x-user'])] }),
      ],
    });
    const act = async (user: string, body: object) => {
      const { status, text } = await ask(base, '/api/act', { headers: { 'x-user': user }, body });
      return { status, ...(JSON.parse(text) as Partial<ActReply & ApiError>) };
    };
    const get = <T>(user: string, path: string) => json<T>(base, path, { headers: { 'x-user': user } });
    const workers = app.get(GearMonkeyWorkers);
    /** Functions that share one limit. */
    const share = async (functions: readonly string[], handler: () => unknown = () => null) => {
      const shared = defineLimit(redis.fn('limit'), { concurrency: 1 });
      for (const fn of functions)
        await workers.add(fn, handler, {
          concurrency: 2,
          limit: { shared, key: (key: unknown) => String(key) },
        });
    };
    return { ...{ mine, ours, secret, act, get, share, workers }, client: app.get(GearMonkeyClient) };
  }

  it.each(servers)('on %s is refused to a user who may not change one of a limit', async (_, url) => {
    const { act, share, mine, secret } = await serve(url());
    await share([mine, secret]);
    const body = { action: 'limit-set', fn: mine, limit: { concurrency: 8 } };
    for (const user of ['tenant', 'viewer'])
      for (const change of [body, { ...body, dry: true }, { action: 'limit-reset', fn: mine }])
        expect(await act(user, change)).toMatchObject({ status: 403, code: 'NOT_ALLOWED' });
    expect((await act('tenant', body)).message).not.toContain(secret);
    expect((await act('viewer', body)).message).toContain(secret);
  });

  it.each(servers)('on %s names the functions of a limit, before and after', async (_, url) => {
    const { act, share, mine, ours, secret } = await serve(url());
    await share([mine, ours]);
    await share([secret]);
    const body = { action: 'limit-set', fn: mine, limit: { concurrency: 8 } };
    for (const user of ['tenant', 'root'])
      for (const change of [{ ...body, dry: true }, body])
        expect(await act(user, change)).toMatchObject({ status: 200, functions: [mine, ours].sort() });
  });

  it('is refused where the app may not read which functions share the limit, but for who may change all', async () => {
    const { share, mine, ours, secret } = await serve(redis.url);
    await share([mine, ours]);
    await redis.redis.zadd('functions', Date.now(), mine, Date.now(), ours, Date.now(), secret);
    const user = redis.fn('user');
    const keys = [mine, ours].flatMap((fn) => [`~control:${fn}`, `~*:${fn}`, `~*:${fn}:*`]);
    await redis.redis.acl(
      'SETUSER',
      user,
      'on',
      '>secret',
      '~functions',
      '~shared-limit:*',
      ...keys,
      '+@all',
    );
    const limited = new URL(redis.url);
    [limited.username, limited.password] = [user, 'secret'];
    const { act } = await serve(limited.href, [mine, ours, secret]);
    const body = { action: 'limit-set', fn: mine, limit: { concurrency: 8 } };
    for (const change of [body, { ...body, dry: true }, { action: 'limit-reset', fn: mine }]) {
      const reply = await act('tenant', change);
      expect(reply).toMatchObject({ status: 403, code: 'NOT_ALLOWED' });
      expect(reply.message).toContain('~control:FN');
      expect(reply.message).not.toContain(secret);
    }
    expect(await act('root', body)).toMatchObject({ status: 200, functions: [mine, ours].sort() });
    await redis.redis.acl('DELUSER', user);
  });

  it.each(servers)('on %s is as before for a limit of one function', async (_, url) => {
    const { act, workers, mine } = await serve(url());
    await workers.add(mine, () => null, { limit: { concurrency: 1 } });
    const body = { action: 'limit-set', fn: mine, limit: { concurrency: 8 } };
    expect(await act('tenant', body)).toEqual({ status: 200, ok: true });
  });

  it.each(servers)('on %s: keys of hidden functions are not among the limits of others', async (_, url) => {
    const { share, get, client, mine, secret } = await serve(url());
    const go = gate();
    await share([mine, secret], () => go.passed);
    await client.run(mine, 'my key');
    // The second waits, so that the key is full.
    for (let jobs = 0; jobs < 2; jobs++) await client.run(secret, 'their key');
    const keysOf = async (user: string) =>
      (await get<LimitView[]>(user, `/api/limits?fn=${mine}`)).map(({ key }) => key).sort();
    await eventually(async () => expect(await keysOf('root')).toEqual(['my key', 'their key']));
    expect(await keysOf('tenant')).toEqual(['my key']);
    go.open();
  });

  it.each(servers)(
    'on %s: a job is not cancelled for which jobs of others wait, by a user who may not cancel them',
    async (_, url) => {
      const { act, client, mine, ours, secret } = await serve(url());
      const last = { job: secret, input: 3 };
      const flow = await client.flow({
        ...{ job: mine, input: 1 },
        children: [{ job: ours, input: 2, children: [last] }],
      });
      const cancel = { action: 'cancel', fn: mine, id: flow.root.id };
      for (const body of [cancel, { ...cancel, dry: true }])
        for (const user of ['tenant', 'viewer'])
          expect(await act(user, body)).toMatchObject({ status: 403, code: 'NOT_ALLOWED' });
      const functions = [mine, ours, secret].sort();
      expect(await act('root', { ...cancel, dry: true })).toMatchObject({ status: 200, functions });
      expect(await act('root', cancel)).toMatchObject({ status: 200, changed: true, functions });
    },
  );

  it.each(servers)(
    'on %s: the last job of a flow is cancelled without rights to the others',
    async (_, url) => {
      const { act, client, mine, secret } = await serve(url());
      const flow = await client.flow({ job: secret, input: 1, children: [{ job: mine, input: 2 }] });
      const { id } = flow.jobs.find(({ fn }) => fn === mine) ?? { id: '' };
      expect(await act('tenant', { action: 'cancel', fn: mine, id })).toEqual({
        ...{ status: 200, ok: true, changed: true },
      });
    },
  );

  it.each(servers)('on %s: a cancel of many leaves those for which others wait', async (_, url) => {
    const { act, get, client, mine, secret } = await serve(url());
    const single = await client.run(mine, 0);
    const flow = await client.flow({ job: mine, input: 1, children: [{ job: secret, input: 2 }] });
    const body = { action: 'cancel', fn: mine, which: { state: 'waiting' } };
    const { bulk } = await act('tenant', body);
    const run = await until(async () => {
      const view = await get<BulkView>('tenant', `/api/bulk?id=${bulk}`);
      return view.ended !== undefined && view;
    });
    expect(run).toMatchObject({ done: 1, state: 'failed', error: { code: 'NOT_ALLOWED' } });
    expect((await single.get()).state).toBe('cancelled');
    expect((await flow.root.get()).state).toBe('waiting');
  });
});
