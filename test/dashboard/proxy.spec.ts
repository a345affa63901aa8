import { afterEach, describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { Session } from '../../lib/dashboard/api.js';
import { until } from '../support/until.js';
import { ANY_PLATFORM, useServedApps } from './dashboard-app.js';
import { ask, json, listen } from './http.js';
import { stripping } from './proxy.js';

const PREFIX = '/behind/it';
const auth = () => ({ name: 'eye', view: true, act: true });

describe.each(ANY_PLATFORM)('behind a proxy that strips a prefix, on %s', (platform) => {
  const apps = useServedApps();
  const proxies: Server[] = [];
  afterEach(() => {
    for (const proxy of proxies.splice(0)) {
      proxy.close();
      proxy.closeAllConnections();
    }
  });

  /** The address of a proxy of `target`, with the prefix. */
  async function proxyOf(target: string): Promise<string> {
    const proxy = await stripping(PREFIX, new URL(target).origin);
    proxies.push(proxy);
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PREFIX}/jobs`;
  }

  it('the page redirects to itself, reads, changes and listens', async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot({ auth })];
    const { base } = await apps.serve(platform, { imports });
    const at = await proxyOf(base);
    const moved = await ask(at, '');
    const place = new URL(moved.headers.location ?? '', at);
    expect([moved.status, place.pathname]).toEqual([302, `${PREFIX}/jobs/`]);
    const page = await ask(at, '/');
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/(?:src|href)="\//);
    expect((await json<Session>(at, '/api/session')).user).toBe('eye');
    const body = { action: 'pause', fn: 'mail' };
    const headers = { origin: new URL(at).origin };
    expect((await ask(at, '/api/act', { body, headers })).status).toBe(200);
    const live = listen(at, [{ overview: 'default' }]);
    await until(() => live.events.length > 0);
    live.close();
  });
});
