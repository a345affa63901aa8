import { describe, expect, it } from '@jest/globals';
import {
  Catch,
  Controller,
  Get,
  Module,
  Scope,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardRequest } from 'nestjs-gearmonkey/dashboard';
import { catchError, EMPTY, map, of, tap, type Observable } from 'rxjs';
import type { Session } from '../../lib/dashboard/api.js';
import { rawResponse } from '../../lib/dashboard/request-facts.js';
import { until } from '../support/until.js';
import { PLATFORMS, useServedApps } from './dashboard-app.js';
import { ask, json, listen, unreadOf } from './http.js';

const JOBS = GearMonkeyModule.forRoot({ connection: 'memory:', workers: false });
const auth = ({ headers }: DashboardRequest) =>
  headers['x-user'] === 'admin'
    ? { name: 'admin', view: true, act: true }
    : { name: 'viewer', view: (fn: string) => fn === 'mine', act: false };
const admin = { headers: { 'x-user': 'admin' } };

type Intercept = (context: ExecutionContext, next: CallHandler) => Observable<unknown>;

/** One that keeps each answer for all who ask for the same. */
function keeping(): Intercept {
  const kept = new Map<string, unknown>();
  return (context, next) => {
    const { url } = context.switchToHttp().getRequest<{ url: string }>();
    return kept.has(url) ? of(kept.get(url)) : next.handle().pipe(tap((value) => kept.set(url, value)));
  };
}

const timing: Intercept = (context, next) => {
  const response = rawResponse(context.switchToHttp().getResponse<object>());
  return next.handle().pipe(tap(() => response.setHeader('x-response-time', '1')));
};

/** As a plugin of sessions does: a guard renews one, and what is sent has its cookie. */
class Renewing implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const response = context.switchToHttp().getResponse<{ header(name: string, value: string): void }>();
    response.header('set-cookie', 'refresh=1');
    return true;
  }
}

/** A guard, pipe, interceptor or filter, as an app has it for each request. */
@Catch()
class ForEachRequest {
  canActivate(): boolean {
    return true;
  }

  transform(value: unknown): unknown {
    return value;
  }

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle();
  }

  catch(error: Error, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Sending>().status(500).send(`of the app: ${error.message}`);
  }
}

/** As much of a response as Express and Fastify share. */
interface Sending {
  status(code: number): this;
  send(text: string): void;
}

/** As much of Fastify as the test uses. */
interface Hooked {
  addHook(name: 'onSend', hook: typeof keep): void;
}

async function keep(_: unknown, reply: { header(name: string, value: string): unknown }): Promise<void> {
  reply.header('x-session', 'kept');
}

describe.each(PLATFORMS)('A dashboard in an app on %s', (platform) => {
  const apps = useServedApps();
  const serve = (intercept: Intercept) =>
    apps.serve(platform, {
      imports: [JOBS, DashboardModule.forRoot({ auth })],
      providers: [{ provide: APP_INTERCEPTOR, useValue: { intercept } }],
    });

  it('whose interceptor keeps answers gives no user those of another', async () => {
    const { app, base } = await serve(keeping());
    const { id } = await app.get(GearMonkeyClient).run('payroll', { salary: 4711 });
    const paths = ['/api/jobs?fn=payroll&state=waiting', `/api/payload?fn=payroll&id=${id}&part=input`];
    for (const path of paths) {
      expect((await ask(base, path, admin)).text).toContain(path.includes('payload') ? '4711' : `"${id}"`);
      expect((await ask(base, path)).status).toBe(403);
    }
    expect((await json<Session>(base, '/api/session', admin)).user).toBe('admin');
    expect((await json<Session>(base, '/api/session')).user).toBe('viewer');
  });

  it('whose interceptor wraps answers answers its page as before', async () => {
    const { base } = await serve((_, next) => next.handle().pipe(map((data: unknown) => ({ data }))));
    await expect(json<Session>(base, '/api/session', admin)).resolves.toMatchObject({ protocol: 1 });
    const body = { action: 'pause', fn: 'mine' };
    await expect(json(base, '/api/act', { ...admin, body })).resolves.toMatchObject({ ok: true });
  });

  it.each<[string, Intercept]>([
    ['keeps answers', keeping()],
    ['has errors answered as others', (_, next) => next.handle().pipe(catchError(() => of({ ok: false })))],
    ['makes errors of its own', (_, next) => next.handle().pipe(catchError(() => EMPTY))],
    ['sets a header behind the answer', timing],
  ])('whose interceptor %s, answers each request as before', async (_, intercept) => {
    const { base } = await serve(intercept);
    const page = listen(base, [{ overview: 'default' }], admin.headers);
    for (let time = 0; time < 2; time++) {
      const { status, text } = await ask(base, '/api/job?fn=mine&id=1', admin);
      expect([status, JSON.parse(text)]).toMatchObject([404, { code: 'JOB_NOT_FOUND' }]);
      await expect(json<Session>(base, '/api/session', admin)).resolves.toMatchObject({ user: 'admin' });
    }
    await until(() => page.events.some(({ name }) => name === 'overview'));
    expect(page.hasEnded()).toBe(false);
    page.close();
  });

  it.each([
    ['guard', APP_GUARD],
    ['pipe', APP_PIPE],
    ['interceptor', APP_INTERCEPTOR],
    ['filter', APP_FILTER],
  ])('whose global %s is request-scoped or durable, answers as before', async (_, provide) => {
    const scoped = { provide, useClass: ForEachRequest, scope: Scope.REQUEST };
    for (const provider of [scoped, { ...scoped, durable: true }]) {
      const { base } = await apps.serve(platform, {
        imports: [JOBS, DashboardModule.forRoot({ auth })],
        providers: [provider],
      });
      await expect(json<Session>(base, '/api/session', admin)).resolves.toMatchObject({ user: 'admin' });
      await expect(ask(base, '/')).resolves.toMatchObject({ status: 200 });
      const { status, text } = await ask(base, '/api/job?fn=mine&id=1', admin);
      expect([status, JSON.parse(text)]).toMatchObject([404, { code: 'JOB_NOT_FOUND' }]);
    }
  });

  it('sends what guards of the app, and hooks of Fastify, add to its answers', async () => {
    const { base } = await apps.serve(
      platform,
      {
        imports: [JOBS, DashboardModule.forRoot({ auth })],
        providers: [{ provide: APP_GUARD, useClass: Renewing }],
      },
      (app) => {
        if (platform === 'fastify') (app.getHttpAdapter().getInstance() as Hooked).addHook('onSend', keep);
      },
    );
    for (const path of ['', '/', '/index.html', '/api/session', '/api/job?fn=mine&id=1']) {
      const { headers } = await ask(base, path, admin);
      expect([path, headers['set-cookie']]).toEqual([path, ['refresh=1']]);
      if (platform === 'fastify') expect([path, headers['x-session']]).toEqual([path, 'kept']);
    }
    const live = await unreadOf(base, '/api/live?topics=[]');
    expect(live.headers).toMatchObject({
      'set-cookie': ['refresh=1'],
      'cache-control': 'no-store, no-transform',
    });
    live.destroy();
  });

  it('leaves the app its own routes below the same path, also those of a module behind it', async () => {
    @Controller()
    class Own {
      @Get(['jobs/users', 'jobs/assets/logo'])
      users() {
        return 'of the app';
      }
    }
    @Module({ controllers: [Own] })
    class Later {}
    const { base } = await apps.serve(platform, { imports: [JOBS, DashboardModule.forRoot(), Later] });
    for (const path of ['/users', '/assets/logo'])
      await expect(ask(base, path)).resolves.toMatchObject({ status: 200, text: 'of the app' });
    const { text } = await ask(base, '/');
    const [, script = ''] = /src="\.(\/assets\/[^"]+\.js)"/.exec(text) ?? [];
    expect((await ask(base, script)).headers['content-type']).toMatch(/javascript/);
  });
});
