import { describe, expect, it } from '@jest/globals';
import { Injectable, Logger, type INestApplication, type LoggerService } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { GearMonkeyClient, GearMonkeyModule, UnrecoverableError, Worker } from 'nestjs-gearmonkey';
import {
  basicAuth,
  DashboardModule,
  type DashboardModuleOptions,
  type DashboardUser,
} from 'nestjs-gearmonkey/dashboard';
import type {
  ActReply,
  BulkView,
  FunctionView,
  LiveEvents,
  Rights,
  ScheduleView,
  WorkersView,
} from '../../lib/dashboard/api.js';
import { until } from '../support/until.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json, listen } from './http.js';

const USERS: Record<string, DashboardUser> = {
  eye: { name: 'eye', view: (fn) => fn !== 'secret', act: false },
  root: { name: 'root', view: true, act: true },
};
const auth = ({ headers }: { headers: Record<string, unknown> }) => USERS[String(headers['x-user'])];
const as = (user: string) => ({ headers: { 'x-user': user } });

@Injectable()
class Handlers {
  @Worker('bad', { retry: { attempts: 1 } })
  bad() {
    throw new UnrecoverableError('no tomato', { cause: new Error('a tomato is missing') });
  }
}

describe('the dashboard', () => {
  const apps = useServedApps();
  const serve = (options: DashboardModuleOptions) =>
    apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:', errorDetail: 'stack' }),
        DashboardModule.forRoot(options),
      ],
      providers: [Handlers],
    });

  /** A run over no jobs, which `root` begins. */
  async function runOf(base: string, fn: string): Promise<string> {
    const body = { action: 'discard', fn, which: { state: 'failed' } };
    return (await json<ActReply>(base, '/api/act', { ...as('root'), body })).bulk ?? '';
  }

  it.each([[true], [{}], ['ada'], [{ name: 7 }]])(
    'takes %j, which `auth` returns, for no user',
    async (user) => {
      const { base } = await serve({ auth: () => user as never });
      expect((await ask(base, '/api/session')).status).toBe(401);
    },
  );

  it('has a user without rights change nothing', async () => {
    const { base } = await serve({ auth: () => ({ name: 'eye', view: true }) as DashboardUser });
    expect((await json<Rights>(base, '/api/rights?fn=mail')).actions).toEqual([]);
    expect((await ask(base, '/api/act', { body: { action: 'pause', fn: 'mail' } })).status).toBe(403);
  });

  it('has a user of basicAuth change nothing who may only look', async () => {
    const { base } = await serve({
      auth: basicAuth({ users: { eye: { password: 'correct horse', act: false } } }),
    });
    const headers = { authorization: `Basic ${Buffer.from('eye:correct horse').toString('base64')}` };
    const body = { action: 'pause', fn: 'mail' };
    expect((await ask(base, '/api/act', { headers, body })).status).toBe(403);
  });

  it('is in no frame of another page, and says nothing of what failed inside', async () => {
    const broken = () => {
      throw new Error('no answer of 10.0.0.7');
    };
    const { base } = await serve({ auth: broken });
    const { status, text, headers } = await ask(base, '/api/session');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect([status, JSON.parse(text)]).toMatchObject([500, { code: 'INTERNAL' }]);
    expect(text).not.toContain('10.0.0.7');
  });

  it('lists schedules and workers of functions that the user may see', async () => {
    const { app, base } = await serve({ auth });
    const client = app.get(GearMonkeyClient);
    for (const fn of ['mail', 'secret']) await client.recur(fn, { id: fn, cron: '0 9 * * *' });
    for (const fn of ['mail', 'secret']) await client.run(fn, 1);
    const schedules = await json<ScheduleView[]>(base, '/api/schedules', as('eye'));
    expect(schedules.map(({ id }) => id)).toEqual(['mail']);
    const { functions } = await json<WorkersView>(base, '/api/workers', as('eye'));
    expect(functions.map(({ fn }) => fn)).toEqual(['bad', 'mail']);
  });

  it('has runs cancelled by those who may do what they do', async () => {
    const { base } = await serve({ auth });
    const id = await runOf(base, 'mail');
    const cancel = (user: string) => ask(base, '/api/bulk/cancel', { ...as(user), body: { id } });
    expect((await cancel('eye')).status).toBe(403);
    expect((await cancel('root')).status).toBe(200);
  });

  it('sends a page functions and runs that its user may see', async () => {
    const { app, base } = await serve({ auth });
    for (const fn of ['mail', 'secret']) await app.get(GearMonkeyClient).run(fn, 1);
    const [hidden, shown] = [await runOf(base, 'secret'), await runOf(base, 'mail')];
    const topics = [{ overview: 'default' }, { bulk: hidden }, { bulk: shown }];
    const live = listen(base, topics, as('eye').headers);
    const of = (name: keyof LiveEvents) => live.events.filter((event) => event.name === name);
    await until(() => of('bulk').some(({ data }) => (data as BulkView).id === shown));
    const functions = of('overview').flatMap(({ data }) => (data as { functions: FunctionView[] }).functions);
    expect(functions.map(({ fn }) => fn).sort()).toEqual(['bad', 'mail']);
    expect(of('bulk').map(({ data }) => (data as BulkView).fn)).toEqual(['mail']);
    live.close();
  });

  it('grants nothing by a function that throws, and goes on for all other users', async () => {
    const broken: DashboardUser = {
      name: 'broken',
      view: (fn) => fn.split('.')[1]?.startsWith('a') || (undefined as unknown as string).startsWith(fn),
      act: false,
    };
    const users: Record<string, DashboardUser> = { ...USERS, broken };
    const { app, base } = await serve({ auth: ({ headers }) => users[String(headers['x-user'])] });
    const pages = ['broken', 'root'].map((user) => listen(base, [{ overview: 'default' }], as(user).headers));
    const seen = (page = pages[1]) =>
      page?.events
        .filter(({ name }) => name === 'overview')
        .flatMap(({ data }) => (data as { functions: FunctionView[] }).functions.map(({ fn }) => fn)) ?? [];
    for (const fn of ['mail.a', 'plain', 'later']) {
      await app.get(GearMonkeyClient).run(fn, 1);
      await until(() => seen().includes(fn));
    }
    expect((await ask(base, '/api/jobs?fn=plain&state=waiting', as('broken'))).status).toBe(403);
    await until(() => seen(pages[0]).includes('mail.a'));
    expect(new Set(seen(pages[0]))).toEqual(new Set(['mail.a']));
    for (const page of pages) page.close();
  });

  it('says once in the log that a `view` throws, whatever it says of each function', async () => {
    const said: string[] = [];
    const error = (text: string) => said.push(text);
    const ignore = () => undefined;
    const view = (fn: string) => {
      throw new Error(`${fn} has no owner`);
    };
    const { base } = await serve({ auth: () => ({ name: 'ada', view, act: false }) });
    Logger.overrideLogger({ log: ignore, warn: ignore, error } as unknown as LoggerService);
    for (const fn of ['mail', 'plain', 'later'])
      expect((await ask(base, `/api/jobs?fn=${fn}&state=waiting`)).status).toBe(403);
    Logger.overrideLogger(false);
    expect(said).toEqual([expect.stringContaining('has thrown, so the user may not: mail has no owner')]);
  });

  it('logs why `auth` has failed, without passwords of URLs and what else the error holds', async () => {
    const said: string[] = [];
    const error = (text: unknown) => said.push(String(text));
    const ignore = () => undefined;
    const { base } = await serve({
      auth: () => {
        const cause = new Error('no route to postgres://app:tomato@10.0.0.7/users');
        throw Object.assign(new Error('ldap://app:tomato@10.0.0.7 is away', { cause }), {
          password: 'tomato',
        });
      },
    });
    Logger.overrideLogger({ log: ignore, warn: ignore, error } as unknown as LoggerService);
    expect((await ask(base, '/api/session')).status).toBe(500);
    Logger.overrideLogger(false);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^Error: ldap:.*@10\.0\.0\.7 is away\n {4}at /);
    expect(said[0]).toMatch(/\nCaused by Error: no route to postgres:.*@10\.0\.0\.7\/users\n/);
    expect(said[0]).not.toContain('tomato');
  });

  it.each(['view', 'act'] as const)(
    'grants nothing by a `%s` that returns a promise, and outlives it',
    async (right) => {
      const later = () => Promise.reject(new Error('the database of rights is away')) as never;
      const user: DashboardUser = { name: 'ada', view: true, act: true, [right]: later };
      const { base } = await serve({ auth: () => user });
      const unhandled: unknown[] = [];
      const hear = (error: unknown) => unhandled.push(error);
      process.on('unhandledRejection', hear);
      await ask(base, '/api/overview');
      expect((await ask(base, '/api/act', { body: { action: 'pause', fn: 'mail' } })).status).toBe(403);
      process.off('unhandledRejection', hear);
      expect(unhandled).toEqual([]);
    },
  );

  it.each<[string, (app: INestApplication) => unknown, number]>([
    ['not a script, which the app’s CORS may let send any', () => undefined, 403],
    ['its proxy', (app) => (app as NestExpressApplication).set('trust proxy', true), 200],
  ])('believes an X-Forwarded-Host of %s', async (_, configure, status) => {
    const modules = [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot({ auth })];
    const { base } = await apps.serve('express', { imports: modules }, (app) => void configure(app));
    const told = { origin: 'http://jobs.example', 'x-forwarded-host': 'jobs.example' };
    const headers = { ...as('root').headers, ...told };
    const body = { action: 'pause', fn: 'mail' };
    expect((await ask(base, '/api/act', { body, headers })).status).toBe(status);
    expect((await ask(base, '/api/overview', { headers })).status).toBe(status);
  });

  it('lists runs on functions that the user may still see', async () => {
    const rights: Record<string, boolean> = { mail: true, secret: true };
    const { base } = await serve({
      auth: () => ({ name: '', view: (fn) => rights[fn] === true, act: true }),
    });
    await Promise.all(['mail', 'secret'].map((fn) => runOf(base, fn)));
    rights['secret'] = false;
    expect((await json<BulkView[]>(base, '/api/bulks')).map(({ fn }) => fn)).toEqual(['mail']);
  });

  it('refuses a page that wants to watch what its user may not see, or too much', async () => {
    const { base } = await serve({ auth });
    const watch = async (topics: unknown) => {
      const { status, body } = await fetch(
        `${base}/api/live?topics=${encodeURIComponent(JSON.stringify(topics))}`,
        as('eye'),
      );
      await body?.cancel();
      return status;
    };
    expect(await watch([{ overview: 'default', fns: ['mail', 'secret'] }])).toBe(403);
    expect(await watch([{ job: '1', fn: 'secret' }])).toBe(403);
    const jobs = Array.from({ length: 6 }, (_, index) => ({ job: String(index + 1), fn: 'mail' }));
    expect(await watch(jobs)).toBe(400);
  });

  it('shows errors, stacks, causes and headers redacted, wherever they are', async () => {
    const { app, base } = await serve({ redact: ({ text }) => text.replaceAll('tomato', '***') });
    const client = app.get(GearMonkeyClient);
    const { id } = await client.run('bad', 1, { headers: { customer: 'tomato' } });
    await until(async () => (await client.get('bad', id))?.state === 'failed');
    const [ofJob, ofCause] = ['no ***', 'a *** is missing'];
    for (const [route, shown] of [
      [`job?fn=bad&id=${id}`, ofJob],
      ['failures?fn=bad', ofCause],
      ['jobs?fn=bad&state=failed', ofJob],
    ] as const) {
      const { status, text } = await ask(base, `/api/${route}`);
      expect([route, status]).toEqual([route, 200]);
      expect(text).toContain(shown);
      expect(text).not.toContain('tomato');
    }
    expect((await ask(base, `/api/job?fn=bad&id=${id}`)).text).toContain('"customer":"***"');
  });
});
