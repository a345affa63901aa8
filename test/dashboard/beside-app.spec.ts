import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardRequest } from 'nestjs-gearmonkey/dashboard';
import { map, of, tap, type Observable } from 'rxjs';
import type { Session } from '../../lib/dashboard/api.js';
import { PLATFORMS, useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

const JOBS = GearMonkeyModule.forRoot({ connection: 'memory:', workers: false });
const auth = ({ headers }: DashboardRequest) =>
  headers['x-user'] === 'admin'
    ? { name: 'admin', view: true, act: true }
    : { name: 'viewer', view: (fn: string) => fn === 'mine', act: false };
const admin = { headers: { 'x-user': 'admin' } };

/** One that keeps each answer for all who ask for the same. */
function keeping() {
  const kept = new Map<string, unknown>();
  return (context: ExecutionContext, next: CallHandler): Observable<unknown> => {
    const { url } = context.switchToHttp().getRequest<{ url: string }>();
    return kept.has(url)
      ? of(kept.get(url))
      : next.handle().pipe(tap((value) => value !== undefined && kept.set(url, value)));
  };
}

describe.each(PLATFORMS)('A dashboard in an app on %s', (platform) => {
  const apps = useServedApps();
  const serve = (intercept: (context: ExecutionContext, next: CallHandler) => Observable<unknown>) =>
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
