import { describe, expect, it } from '@jest/globals';
import {
  Catch,
  ForbiddenException,
  Injectable,
  UnauthorizedException,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import {
  DashboardModule,
  type DashboardModuleOptions,
  type DashboardRequest,
} from 'nestjs-gearmonkey/dashboard';
import type { Session } from '../../lib/dashboard/api.js';
import { rawRequest } from '../../lib/dashboard/request-facts.js';
import { ANY_PLATFORM, useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

const LOGIN = '/login?next=/jobs/';
const NAVIGATION = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
const SIGNED_IN = { headers: { cookie: 'theme=dark; session=ada%20l' } };
const auth = ({ cookies }: DashboardRequest) =>
  cookies['session'] === 'ada l' ? { name: 'ada', view: true, act: true } : undefined;

/** As an app has it for all of its routes. */
@Injectable()
class SignedInGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { cookie = '' } = rawRequest(context.switchToHttp().getRequest<object>()).headers;
    if (cookie.includes('blocked')) throw new ForbiddenException();
    if (!cookie.includes('session')) throw new UnauthorizedException();
    return true;
  }
}

/** As an app sends people to its page. */
@Catch()
class AppFilter implements ExceptionFilter {
  constructor(private readonly adapters: HttpAdapterHost) {}

  catch(error: Error, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapters;
    httpAdapter.reply(host.switchToHttp().getResponse(), `the app says ${error.message}`, 418);
  }
}

describe.each(ANY_PLATFORM)('who is not signed in, on %s', (platform) => {
  const apps = useServedApps();
  const serve = (options: DashboardModuleOptions, withGuard = false, withFilter = false) =>
    apps.serve(
      platform,
      { imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot(options)] },
      (app) => {
        if (withGuard) app.useGlobalGuards(new SignedInGuard());
        if (withFilter) app.useGlobalFilters(new AppFilter(app.get(HttpAdapterHost)));
      },
    );

  it.each([
    ['`auth` knows no user', { auth, login: LOGIN }, false],
    ['`auth` throws', { auth: () => Promise.reject(new UnauthorizedException()), login: LOGIN }, false],
    ['a guard of the app throws', { auth, login: LOGIN }, true],
  ])('is sent to `login` when a page is opened, and gets 401 else: %s', async (_, options, withGuard) => {
    const { base } = await serve(options, withGuard);
    for (const path of ['', '/', '/api/raw?fn=a&id=1&part=input']) {
      const { status, headers } = await ask(base, path, NAVIGATION);
      expect([path, status, headers.location]).toEqual([path, 302, LOGIN]);
      expect(headers['cache-control']).toBe('no-store');
    }
    const fetched = { headers: { ...NAVIGATION.headers, 'sec-fetch-mode': 'cors' } };
    const posted = { ...NAVIGATION, body: { action: 'pause', fn: 'mail' } };
    for (const [path, asked] of [
      ['/api/session', {}],
      ['/api/live?topics=[]', {}],
      ['/api/session', fetched],
      ['/api/act', posted],
    ] as const) {
      const { status, text, headers } = await ask(base, path, asked);
      expect([path, status, JSON.parse(text)]).toEqual([
        path,
        401,
        { code: 'NOT_LOGGED_IN', message: 'Log in first.' },
      ]);
      expect(headers.location).toBeUndefined();
    }
  });

  it('gets in after that', async () => {
    const { base } = await serve({ auth, login: LOGIN }, true);
    expect((await ask(base, '/', { headers: { ...NAVIGATION.headers, ...SIGNED_IN.headers } })).status).toBe(
      200,
    );
    expect((await json<Session>(base, '/api/session', SIGNED_IN)).user).toBe('ada');
  });

  it('is answered by the filters of the app, if a guard of the app refused', async () => {
    const { base } = await serve({ auth }, true, true);
    for (const [path, asked] of [
      ['/', NAVIGATION],
      ['/api/session', {}],
    ] as const) {
      const { status, text } = await ask(base, path, asked);
      expect([path, status, text]).toEqual([path, 418, 'the app says Unauthorized']);
    }
    const blocked = { headers: { cookie: 'session=blocked' } };
    expect((await ask(base, '/', blocked)).text).toBe('the app says Forbidden');
    const wrong = await ask(base, '/api/jobs?fn=mail', SIGNED_IN);
    expect([wrong.status, JSON.parse(wrong.text)]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
    const stranger = await ask(base, '/api/session', { headers: { cookie: 'session=eve' } });
    expect([stranger.status, JSON.parse(stranger.text)]).toMatchObject([401, { code: 'NOT_LOGGED_IN' }]);
  });

  it('is found by `auth` in cookies, url and ip', async () => {
    const seen: unknown[] = [];
    const { base } = await serve({
      auth: ({ cookies, url, ip }) => void seen.push({ cookies, url, ip }),
    });
    await ask(base, '/api/jobs?fn=a', { headers: { cookie: 'a=1; b=%E2%82%AC; c=%; a=2; __proto__=x; d' } });
    await ask(base, '/');
    expect(seen).toEqual([
      {
        cookies: { a: '1', b: '€', c: '%', ['__proto__']: 'x', d: '' },
        url: '/jobs/api/jobs?fn=a',
        ip: expect.stringContaining('127.0.0.1'),
      },
      { cookies: {}, url: '/jobs/', ip: expect.any(String) },
    ]);
  });

  it('finds cookies as a parser of the app left them', async () => {
    const seen: unknown[] = [];
    const options = { auth: ({ cookies }: DashboardRequest) => void seen.push(cookies) };
    const parsed = { session: 'by the app' };
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot(options)];
    const { base } = await apps.serve(platform, { imports }, (app) => {
      app.useGlobalGuards({
        canActivate: (context) =>
          Object.assign(context.switchToHttp().getRequest<object>(), { cookies: parsed }) && true,
      });
    });
    await ask(base, '/', SIGNED_IN);
    expect(seen).toEqual([parsed]);
  });

  it.each(['', 'login', 'javascript:alert(1)', '/with space', '/line\r\nset-cookie: a=b', 1, null])(
    'has no `login` at %j',
    async (login) => {
      const refused = apps.create(platform, {
        imports: [
          GearMonkeyModule.forRoot({ connection: 'memory:' }),
          DashboardModule.forRoot({ auth, login: login as string }),
        ],
      });
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    },
  );

  it('has no `login` without `auth`', async () => {
    await expect(serve({ login: LOGIN })).rejects.toThrow('`login` of DashboardModule needs `auth`');
  });
});
