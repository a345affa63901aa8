import { afterEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import {
  basicAuth,
  DashboardModule,
  type AuditEvent,
  type DashboardModuleOptions,
  type DashboardUser,
} from 'nestjs-gearmonkey/dashboard';
import type {
  ActReply,
  FunctionView,
  JobView,
  PayloadView,
  Rights,
  Session,
  StreamView,
} from '../../lib/dashboard/api.js';
import { until } from '../support/until.js';
import { PLATFORMS, useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

const USERS: Record<string, DashboardUser> = {
  reader: { name: 'reader', view: true, act: false },
  mailer: {
    name: 'mailer',
    view: (fn) => fn !== 'secret',
    act: (action, fn) => fn === 'mail' && action !== 'discard',
  },
  root: { name: 'root', view: true, act: true },
};
const auth = ({ headers }: { headers: Record<string, unknown> }) => USERS[String(headers['x-user'])];
const as = (user: string) => ({ headers: { 'x-user': user } });
const ROUTES = ['', '/', '/api/session', '/api/overview', '/api/job?fn=a&id=1', '/api/live?topics=[]'];

describe.each(PLATFORMS)('who may use the dashboard on %s', (platform) => {
  const apps = useServedApps();
  const before = process.env['NODE_ENV'];
  const unheard: (() => void)[] = [];
  afterEach(() => {
    for (const stop of unheard.splice(0)) stop();
    process.env['NODE_ENV'] = before;
  });
  const modules = (options: DashboardModuleOptions) => ({
    imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot(options)],
  });
  const serve = (options: DashboardModuleOptions) => apps.serve(platform, modules(options));

  it('asks who they are, on every route', async () => {
    const { base } = await serve({ auth });
    for (const route of ROUTES) {
      const { status, text } = await ask(base, route);
      expect([route, status]).toEqual([route, 401]);
      expect(JSON.parse(text)).toMatchObject({ code: 'NOT_LOGGED_IN' });
    }
    const body = { action: 'pause', fn: 'mail' };
    expect((await ask(base, '/api/act', { body })).status).toBe(401);
    expect((await json<Session>(base, '/api/session', as('reader'))).user).toBe('reader');
  });

  it('takes options of a factory, which may ask other providers', async () => {
    const TITLE = Symbol('title');
    @Module({ providers: [{ provide: TITLE, useValue: 'Pictures' }], exports: [TITLE] })
    class Config {}
    const options = async (title: string) => ({ title, auth });
    const imports = [
      GearMonkeyModule.forRoot({ connection: 'memory:' }),
      DashboardModule.forRootAsync({ path: 'jobs', imports: [Config], inject: [TITLE], useFactory: options }),
    ];
    const { base } = await apps.serve(platform, { imports });
    expect((await ask(base, '/api/session')).status).toBe(401);
    expect((await json<Session>(base, '/api/session', as('reader'))).title).toBe('Pictures');
    process.env['NODE_ENV'] = 'production';
    const open = DashboardModule.forRootAsync({ useFactory: () => ({}) });
    await expect(apps.serve(platform, { imports: [imports[0]!, open] })).rejects.toMatchObject({
      code: 'DASHBOARD_OPEN',
    });
  });

  it('shows and changes what the rights of a user say, function by function', async () => {
    const { app, base } = await serve({ auth });
    const client = app.get(GearMonkeyClient);
    for (const fn of ['mail', 'other', 'secret']) await client.run(fn, 1);
    const overview = await json<FunctionView[]>(base, '/api/overview', as('mailer'));
    expect(overview.map(({ fn, act }) => [fn, act])).toEqual([
      ['mail', true],
      ['other', false],
    ]);
    for (const route of [
      'jobs?state=waiting&',
      'job?id=1&',
      'failures?',
      'limits?',
      'rights?',
      'statistics?',
    ])
      expect([route, (await ask(base, `/api/${route}fn=secret`, as('mailer'))).status]).toEqual([route, 403]);
    const act = (user: string, body: object) => ask(base, '/api/act', { ...as(user), body });
    expect((await act('mailer', { action: 'pause', fn: 'mail' })).status).toBe(200);
    for (const body of [
      { action: 'discard', fn: 'mail', id: '1' },
      { action: 'pause', fn: 'other' },
      { action: 'pause', fn: 'secret' },
    ])
      expect((await act('mailer', body)).status).toBe(403);
    expect((await act('reader', { action: 'pause', fn: 'mail' })).status).toBe(403);
    const rights = await json<Rights>(base, '/api/rights?fn=mail', as('mailer'));
    expect(rights.actions).not.toContain('discard');
    expect((await json<Rights>(base, '/api/rights?fn=mail', as('reader'))).actions).toEqual([]);
  });

  it('changes nothing when it is read-only, which it is in production', async () => {
    process.env['NODE_ENV'] = 'production';
    const { app, base } = await serve({ auth });
    await app.get(GearMonkeyClient).run('mail', 1);
    expect(await json<Session>(base, '/api/session', as('root'))).toMatchObject({
      readOnly: true,
      instances: [{ actions: [] }],
    });
    const { status, text } = await ask(base, '/api/act', {
      ...as('root'),
      body: { action: 'pause', fn: 'mail' },
    });
    expect([status, JSON.parse(text)]).toMatchObject([403, { code: 'READ_ONLY' }]);
    expect((await json<JobView>(base, '/api/job?fn=mail&id=1', as('root'))).actions).toEqual([]);
  });

  it('does not start without `auth` in production, nor listen for others', async () => {
    const open = expect.objectContaining({ code: 'DASHBOARD_OPEN' });
    const app = await apps.create(platform, modules({}));
    await expect(app.listen(0, '0.0.0.0')).rejects.toEqual(open);
    await until(() => !(app.getHttpServer() as Server).listening);
    process.env['NODE_ENV'] = 'production';
    await expect(apps.create(platform, modules({}))).rejects.toEqual(open);
  });

  it('checks names and passwords with basicAuth', async () => {
    const users = { ops: { password: 'correct horse' }, eye: { password: 'pass:word!', act: false } };
    const { base } = await serve({ auth: basicAuth({ users }) });
    const login = (text: string) => ({
      headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` },
    });
    expect((await ask(base, '/')).headers['www-authenticate']).toContain('Basic realm');
    for (const text of ['ops:wrong horse', 'ops:', 'ops', ':', 'nobody:correct horse', '__proto__:x'])
      expect((await ask(base, '/api/session', login(text))).status).toBe(401);
    expect((await json<Session>(base, '/api/session', login('eye:pass:word!'))).user).toBe('eye');
    expect(() => basicAuth({ users: { ops: { password: '' } } })).toThrow('8 characters');
    expect(() => basicAuth({ users: {} })).toThrow('needs `users`');
  });

  it('tells of every change, refusal and failure who did what', async () => {
    const { app, base } = await serve({ auth });
    const { id } = await app.get(GearMonkeyClient).run('mail', 1);
    const events: AuditEvent[] = [];
    const ids: string[] = [];
    const hear = (event: unknown) => void events.push(event as AuditEvent);
    subscribe('gearmonkey:audit', hear);
    try {
      await ask(base, '/api/act', { ...as('root'), body: { action: 'cancel', fn: 'mail', id } });
      await ask(base, '/api/act', { ...as('reader'), body: { action: 'pause', fn: 'mail' } });
      const dry = { action: 'cancel', fn: 'mail', which: { state: 'waiting' }, dry: true };
      await ask(base, '/api/act', { ...as('root'), body: dry });
      const made = await json<ActReply>(base, '/api/act', {
        ...as('root'),
        body: { action: 'run', fn: 'mail' },
      });
      ids.push(made.id ?? '');
      await ask(base, '/api/job?fn=secret&id=7', as('mailer'));
      await ask(base, '/api/act', { ...as('mailer'), body: { action: 'run', fn: 'secret' } });
      const foreign = { ...as('root').headers, 'sec-fetch-site': 'cross-site' };
      await ask(base, '/api/act', { headers: foreign, body: { action: 'pause', fn: 'mail' } });
      await ask(base, '/api/act', {
        ...as('root'),
        body: { action: 'edit', fn: 'mail', id: '404', input: '1' },
      });
    } finally {
      unsubscribe('gearmonkey:audit', hear);
    }
    expect(events).toMatchObject([
      { user: 'root', action: 'cancel', instance: 'default', fn: 'mail', target: id, count: 1 },
      { user: 'reader', action: 'pause', fn: 'mail', error: { code: 'NOT_ALLOWED' } },
      { user: 'root', action: 'run', fn: 'mail', job: ids[0] },
      { user: 'mailer', action: 'view', fn: 'secret', target: '7', error: { code: 'NOT_ALLOWED' } },
      { user: 'mailer', action: 'run', fn: 'secret', error: { code: 'NOT_ALLOWED' } },
      { user: 'root', action: 'pause', fn: 'mail', error: { code: 'CROSS_SITE' } },
      { user: 'root', action: 'edit', fn: 'mail', target: '404', count: 0, error: { code: 'JOB_NOT_FOUND' } },
    ]);
    expect(events).toHaveLength(7);
  });

  /** The events from now on, until the test ends. */
  function hearing(): AuditEvent[] {
    const events: AuditEvent[] = [];
    const hear = (event: unknown) => void events.push(event as AuditEvent);
    subscribe('gearmonkey:audit', hear);
    unheard.push(() => void unsubscribe('gearmonkey:audit', hear));
    return events;
  }

  it('tells that a run on many jobs begins before it changes any, and how it has ended', async () => {
    const { app, base } = await serve({ auth });
    const client = app.get(GearMonkeyClient);
    for (const input of [1, 2]) await client.run('mail', input);
    const events = hearing();
    const countAtBegin: Promise<number>[] = [];
    const count = (event: unknown) =>
      void (
        (event as AuditEvent).phase === 'begin' &&
        countAtBegin.push(client.list('mail', { state: 'waiting' }).then(({ total }) => total))
      );
    subscribe('gearmonkey:audit', count);
    unheard.push(() => void unsubscribe('gearmonkey:audit', count));
    // The event is about what is done, also if a request names a job as well.
    const body = { action: 'cancel', fn: 'mail', which: { state: 'waiting' }, id: '999' };
    const { bulk } = await json<ActReply>(base, '/api/act', { ...as('root'), body });
    await until(() => events.length === 2);
    const same = { user: 'root', action: 'cancel', fn: 'mail', bulk, target: '{"state":"waiting"}' };
    expect(events).toMatchObject([
      { ...same, phase: 'begin' },
      { ...same, phase: 'end', count: 2 },
    ]);
    expect(events[0]).not.toHaveProperty('count');
    await expect(Promise.all(countAtBegin)).resolves.toEqual([2]);
  });

  it('tells of every change that is refused at the door', async () => {
    const { base } = await serve({ auth });
    const local = await serve({});
    const events = hearing();
    const body = { action: 'pause', fn: 'mail', id: '7' };
    for (const route of ROUTES) await ask(base, route);
    expect(events).toEqual([]);
    await ask(base, '/api/act', { body });
    await ask(base, '/api/act', { body: { ...body, action: 'wrong' } });
    await ask(base, '/api/bulk/cancel', { body: { id: 'some' } });
    await ask(local.base, '/api/act', { body, isStranger: true });
    await ask(local.base, '/api/act', { body, headers: { 'x-forwarded-for': '10.0.0.1' } });
    await ask(local.base, '/api/act', { body, headers: { host: 'evil.example' } });
    const text = { ...as('root').headers, 'content-type': 'text/plain' };
    await ask(base, '/api/act', { body: JSON.stringify(body), headers: text });
    expect(events).toMatchObject([
      { user: '', action: 'pause', fn: 'mail', target: '7', error: { code: 'NOT_LOGGED_IN' } },
      { user: '', action: 'other', fn: 'mail', error: { code: 'NOT_LOGGED_IN' } },
      { user: '', action: 'other', target: 'some', error: { code: 'NOT_LOGGED_IN' } },
      { user: '', action: 'pause', fn: 'mail', error: { code: 'NOT_LOGGED_IN' } },
      { user: '', action: 'pause', fn: 'mail', error: { code: 'LOCAL_ONLY' } },
      { user: '', action: 'pause', fn: 'mail', error: { code: 'LOCAL_ONLY' } },
      { user: 'root', error: { code: 'NOT_JSON' } },
    ]);
    expect(events).toHaveLength(7);
  });

  it('changes nothing by a request that it could not audit', async () => {
    const { app, base } = await serve({ auth });
    const client = app.get(GearMonkeyClient);
    for (const target of [{ id: 1 }, { id: {} }, { schedule: [] }, { id: null }, { kind: 1 }]) {
      const body = { action: 'run', fn: 'mail', ...target };
      const { status, text } = await ask(base, '/api/act', { ...as('root'), body });
      expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([400, 'INVALID_REQUEST']);
    }
    expect((await client.overview()).filter(({ fn }) => fn === 'mail')).toEqual([]);
  });

  it('shows what `redact` returns, nothing if it throws, and 64 KiB at most', async () => {
    const redact = ({ text, part }: { text: string; part: string }) => {
      if (text.includes('broken')) throw new Error('no');
      if (text.includes('later')) return Promise.reject(new Error('no')) as never;
      return part === 'input' ? text.replaceAll('4111', '****') : text;
    };
    const { app, base } = await serve({ redact });
    const client = app.get(GearMonkeyClient);
    const { id } = await client.run('mail', { card: '4111', html: '<script>alert(1)</script>' });
    const payload = (of: string) => json<PayloadView>(base, `/api/payload?fn=mail&part=input&id=${of}`);
    expect(await payload(id)).toMatchObject({ redacted: true, text: expect.stringContaining('****') });
    const raw = await ask(base, `/api/raw?fn=mail&part=input&id=${id}`);
    expect(raw.text).not.toContain('4111');
    expect(raw.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${id}-input.bin"`,
    });
    const broken = await client.run('mail', 'broken');
    expect((await payload(broken.id)).text).toBe('(hidden)');
    expect((await payload((await client.run('mail', 'later')).id)).text).toBe('(hidden)');
    const large = await client.run('mail', 'é'.repeat(100_000));
    const shown = await payload(large.id);
    expect(shown).toMatchObject({ cut: true, bytes: 200_002 });
    expect(Buffer.byteLength(shown.text)).toBeLessThanOrEqual(65_536);
    expect(shown.text).not.toContain('�');
    expect((await ask(base, `/api/raw?fn=mail&part=input&id=${large.id}`)).bytes).toHaveLength(200_002);
  });

  it('shows of streams what `redact` returns', async () => {
    const redact = ({ text, part }: { text: string; part: string }) => {
      if (text.includes('broken')) throw new Error('no');
      return `${part}: ${text.replaceAll('4111', '****')}`;
    };
    const { app, base } = await serve({ redact });
    await app.get(GearMonkeyWorkers).add('stream', async (_, job) => {
      await job.log('card 4111');
      await job.log('broken');
      await job.chunk('card 4111');
    });
    const job = await app.get(GearMonkeyClient).run('stream', null);
    await job.result();
    const texts = async (kind: string) =>
      (await json<StreamView>(base, `/api/stream?fn=stream&id=${job.id}&kind=${kind}`)).entries.map(
        ({ text }) => text,
      );
    await expect(texts('log')).resolves.toEqual(['log: card ****', '(hidden)']);
    await expect(texts('output')).resolves.toEqual(['chunk: "card ****"']);
    for (const wrong of ['kind=input', 'kind=log&from=x', 'kind=log&from=-1'])
      expect((await ask(base, `/api/stream?fn=stream&id=${job.id}&${wrong}`)).status).toBe(400);
  });

  it('refuses what it does not know with a code', async () => {
    const { base } = await serve({});
    for (const [route, status] of [
      ['/api/jobs?fn=mail', 400],
      ['/api/jobs?fn=mail&state=__proto__', 400],
      ['/api/jobs?fn=mail&state=waiting&size=101', 400],
      ['/api/jobs?fn=mail&state=waiting&page=%00', 400],
      ['/api/jobs?fn=a&fn=b&state=waiting', 400],
      ['/api/jobs?fn=&state=waiting', 400],
      ['/api/job?fn=mail&id=send:1', 400],
      ['/api/job?fn=mail&id=1', 404],
      ['/api/job?i=nothing&fn=mail&id=1', 404],
      ['/api/bulk?id=x', 404],
      ['/api/statistics?by=year', 400],
      ['/api/live?topics=[1]', 400],
      [`/api/live?topics=${encodeURIComponent('[{"job":"x","fn":"a"}]')}`, 400],
      [`/api/live?topics=${encodeURIComponent('[{"bulk":{"toString":1}}]')}`, 400],
    ] as const) {
      const answer = await ask(base, route);
      expect([route, answer.status]).toEqual([route, status]);
      expect(JSON.parse(answer.text)).toEqual({ code: expect.any(String), message: expect.any(String) });
    }
    const limit = { action: 'limit-set', fn: 'mail', limit: 'a' };
    for (const body of [{}, [], { action: 'drop' }, { action: 'run', fn: 'a', input: '{' }, limit, 'null'])
      expect((await ask(base, '/api/act', { body })).status).toBe(400);
    const large = { action: 'run', fn: 'a', input: JSON.stringify('x'.repeat(300_000)) };
    expect((await ask(base, '/api/act', { body: large })).status).toBe(413);
  });
});
