import { afterEach, describe, expect, it } from '@jest/globals';
import { ask } from '../dashboard/http.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const HTML = { accept: 'text/html' };

describe('sample/11-dashboard', () => {
  afterEach(stopSamples);

  it('shows the dashboard to those who have signed in, by their rights, until they sign out', async () => {
    const sample = new SampleProcess(['11-dashboard'], { PORT: '0' });
    const page = await sample.says(/^Open (\S+)$/m);
    const at = (path: string, init: RequestInit = {}) =>
      fetch(new URL(path, page), { redirect: 'manual', ...init });
    const signIn = async (name: string, password: string) => {
      const { status, headers } = await at('/login', {
        method: 'POST',
        body: new URLSearchParams({ name, password }),
      });
      return { status, cookie: headers.getSetCookie()[0]?.split(';')[0] ?? '' };
    };
    const pause = async (cookie: string) => {
      const headers = { cookie, 'content-type': 'application/json' };
      const body = JSON.stringify({ action: 'pause', fn: 'greet' });
      return (await at('api/act', { method: 'POST', headers, body })).status;
    };

    // Unlike `fetch`, it asks as a browser does that opens a page.
    const moved = await ask(page, '', { headers: HTML });
    expect([moved.status, moved.headers.location]).toEqual([302, '/login']);
    expect((await at('api/session')).status).toBe(401);
    await expect((await at('/login')).text()).resolves.toContain('Sign in');
    for (const [name, password] of [
      ['ops', 'wrong'],
      ['ops', ''],
      ['eve', ''],
    ] as const)
      await expect(signIn(name, password)).resolves.toEqual({ status: 401, cookie: '' });

    const [ops, eye] = [await signIn('ops', 'only-for-development'), await signIn('eye', 'only-for-looking')];
    expect([ops.status, eye.status]).toEqual([303, 303]);
    for (const [{ cookie }, user] of [
      [ops, 'ops'],
      [eye, 'eye'],
    ] as const) {
      expect((await at('', { headers: { ...HTML, cookie } })).status).toBe(200);
      const session: unknown = await (await at('api/session', { headers: { cookie } })).json();
      expect(session).toMatchObject({ user });
    }
    await expect(pause(eye.cookie)).resolves.toBe(403);
    await expect(pause(ops.cookie)).resolves.toBe(200);

    expect((await at('/logout', { method: 'POST', headers: { cookie: ops.cookie } })).status).toBe(303);
    expect((await at('api/session', { headers: { cookie: ops.cookie } })).status).toBe(401);
    await expect(pause(ops.cookie)).resolves.toBe(401);
  });
});
