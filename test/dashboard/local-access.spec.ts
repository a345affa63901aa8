import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Logger,
  RequestMethod,
  VersioningType,
  type INestApplication,
  type LoggerService,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as requestByHttp, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { request } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardModuleOptions } from 'nestjs-gearmonkey/dashboard';
import type { Session } from '../../lib/dashboard/api.js';
import { LocalAccess } from '../../lib/dashboard/local-access.js';
import { DashboardUrl } from '../../lib/dashboard/dashboard-url.js';
import { useTls } from '../support/tls.js';
import { PLATFORMS, useServedApps } from './dashboard-app.js';
import { ask, cookieOf, json } from './http.js';
import { plain } from './proxy.js';

const VARIABLE = 'GEARMONKEY_DASHBOARD_TOKEN';
const FIXED = 'a-token-that-stays-the-same';
const STRANGER = { isStranger: true };
const ROUTES = ['', '/', '/index.html', '/api/session', '/api/overview', '/api/live?topics=[]'];

describe('a dashboard without `auth` over HTTPS', () => {
  const apps = useServedApps();
  const tls = useTls();

  it('names its URL so, and sends its cookie over HTTPS only', async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot()];
    const httpsOptions = { key: tls.key, cert: tls.cert };
    const app = await apps.create('express', { imports }, { httpsOptions });
    await app.listen(0, '127.0.0.1');
    const { url = '' } = app.get(DashboardUrl, { strict: false });
    expect(url).toMatch(/^https:/);
    const sent = request(url, { ca: tls.ca, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.headers['set-cookie']).toEqual([
      expect.stringMatching(/; HttpOnly; SameSite=Lax; Secure$/),
    ]);
  });
});

describe('a dashboard without `auth` over HTTP/2, which has no Host header', () => {
  const apps = useServedApps();

  it('opens with its token', async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot()];
    const app = await apps.create(new FastifyAdapter({ http2: true } as object), { imports });
    await app.listen(0, '127.0.0.1');
    const { url = '' } = app.get(DashboardUrl, { strict: false });
    const { origin, pathname, search } = new URL(url);
    const session = connectHttp2(origin);
    try {
      const [headers] = (await once(session.request({ ':path': pathname + search }), 'response')) as [
        IncomingHttpHeaders,
      ];
      expect(headers).toMatchObject({ ':status': 302, location: './' });
    } finally {
      session.destroy();
    }
  });
});

describe.each(PLATFORMS)('a dashboard without `auth` on %s', (platform) => {
  const apps = useServedApps();
  const proxies: Server[] = [];
  afterEach(() => {
    delete process.env[VARIABLE];
    Logger.overrideLogger(false);
    for (const proxy of proxies.splice(0)) proxy.close();
  });
  const modules = (options: DashboardModuleOptions = {}) => ({
    imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot(options)],
  });
  const serve = (configure?: (app: INestApplication) => void) => apps.serve(platform, modules(), configure);
  const urlOf = (app: INestApplication) => app.get(DashboardUrl, { strict: false }).url ?? '';
  const codeOf = (text: string) => (JSON.parse(text) as { code: string }).code;

  /** The lines that the app logs of its dashboard from now on. */
  function linesOfLog(): string[] {
    const lines: string[] = [];
    const log = (text: string, context: string) => context === 'Dashboard' && lines.push(text);
    Logger.overrideLogger({ log, warn: log, error: log } as unknown as LoggerService);
    return lines;
  }

  it('shows and changes nothing behind a plain proxy, which brings requests in the name of this machine', async () => {
    const { app, base } = await serve();
    const proxy = await plain(base);
    proxies.push(proxy);
    const outside = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/jobs`;
    for (const route of ROUTES) {
      const { status, text } = await ask(outside, route);
      expect([route, status, codeOf(text)]).toEqual([route, 401, 'NOT_LOGGED_IN']);
    }
    const headers = { 'sec-fetch-site': 'same-origin', host: 'jobs.public.example' };
    const body = { action: 'pause', fn: 'mail' };
    expect((await ask(outside, '/api/act', { body, headers })).status).toBe(401);
    await expect(app.get(GearMonkeyClient).isPaused('mail')).resolves.toBe(false);
  });

  it('answers others on this machine with where its token is', async () => {
    const { base } = await serve();
    for (const route of ROUTES) {
      const { status, text } = await ask(base, route, STRANGER);
      expect([route, status]).toEqual([route, 401]);
      expect(text).toContain('a token that the app logs when it starts');
    }
    expect((await ask(base, '/api/session', { ...STRANGER, method: 'HEAD' })).status).toBe(401);
  });

  it('logs its URL with the token, which is turned into a cookie and leaves the address', async () => {
    let lines: string[] = [];
    const { app, base } = await serve(() => void (lines = linesOfLog()));
    const { port } = new URL(base);
    const url = urlOf(app);
    expect(lines).toEqual([expect.stringContaining(url)]);
    expect(url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/jobs/\\?token=[\\w-]{32}$`));
    const moved = await ask(url, '', STRANGER);
    const [cookie = ''] = moved.headers['set-cookie'] ?? [];
    expect([moved.status, moved.headers.location]).toEqual([302, './']);
    const token = new URL(url).searchParams.get('token');
    expect(cookie).toBe(`gearmonkey-dashboard-${port}=${token}; HttpOnly; SameSite=Lax`);
    expect(moved.headers['referrer-policy']).toBe('no-referrer');
    expect(moved.text).not.toContain(token);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask(base, '/', { ...STRANGER, headers })).status).toBe(200);
    expect((await json<Session>(base, '/api/session', { ...STRANGER, headers })).user).toBe('local');
    expect((await ask(base, '/api/live', { ...STRANGER, headers })).status).toBe(400);
    const direct = await ask(base, `?token=${token}`, STRANGER);
    expect([direct.status, direct.headers.location]).toEqual([302, 'jobs/']);
    expect(direct.headers['set-cookie']).toEqual([`${cookie}; Path=/jobs`]);
  });

  it('puts its token into no address, whatever token it is asked with', async () => {
    const { app, base } = await serve((created) => void created.setGlobalPrefix('tools'));
    const at = base.replace('/jobs', '/tools/jobs');
    const token = new URL(urlOf(app)).searchParams.get('token') ?? '';
    for (const path of ['', '/'])
      for (const given of ['WRONG', '', token, `x&token=${token}`])
        for (const asked of [{}, STRANGER]) {
          const { status, headers } = await ask(at, `${path}?token=${given}`, asked);
          expect([status, headers.location ?? '']).not.toContainEqual(expect.stringContaining('token'));
          expect(headers.location ?? '').not.toContain(token);
          if (given !== token) expect(headers['set-cookie']).toBeUndefined();
        }
    const [cookie = ''] = (await ask(at, `?token=${token}`, STRANGER)).headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; Path=\/tools\/jobs$/);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask(at, '/', { ...STRANGER, headers })).status).toBe(200);
  });

  it('takes the token for the page only, and no other token', async () => {
    const { app, base } = await serve();
    const token = new URL(urlOf(app)).searchParams.get('token') ?? '';
    const other = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const wrong = [`/api/session?token=${token}`, '/?token=', `/?token=${other}`, `/?token=${token}x`];
    for (const path of wrong) {
      const { status, headers } = await ask(base, path, STRANGER);
      expect([path, status, headers['set-cookie']]).toEqual([path, 401, undefined]);
    }
    const body = { action: 'pause', fn: 'mail' };
    expect((await ask(base, `/api/act?token=${token}`, { ...STRANGER, body })).status).toBe(401);
    const name = `gearmonkey-dashboard-${new URL(base).port}`;
    for (const cookie of [
      `${name}=`,
      `${name}=${other}`,
      `other=${token}`,
      name,
      `${name}=${token}x`,
      token,
    ]) {
      const { status } = await ask(base, '/api/session', { headers: { cookie } });
      expect([cookie, status]).toEqual([cookie, 401]);
    }
    const twice = { headers: { cookie: `${name}=${other}; a=b; ${name}=${token}` } };
    expect((await ask(base, '/api/session', twice)).status).toBe(200);
    const old = await ask(base, `/?token=${other}`);
    expect([old.status, old.headers.location]).toEqual([302, './']);
  });

  it('has a cookie of its own beside that of a dashboard on another port', async () => {
    const [one, two] = [await serve(), await serve()];
    const [first = '', second = ''] = [cookieOf(one.base), cookieOf(two.base)];
    const headers = { cookie: `${first}; ${second}` };
    for (const { base } of [one, two])
      expect((await ask(base, '/api/session', { headers })).status).toBe(200);
    expect((await ask(one.base, '/api/session', { headers: { cookie: second } })).status).toBe(401);
    const [, token] = second.split('=');
    const forged = { cookie: `${first.split('=')[0]}=${token}` };
    expect((await ask(one.base, '/api/session', { headers: forged })).status).toBe(401);
  });

  it('answers only requests of this machine by its own name, also with the cookie', async () => {
    const { base } = await serve();
    const status = async (headers: Record<string, string>) =>
      (await ask(base, '/api/session', { headers })).status;
    const [name = '', token = ''] = cookieOf(base)?.split('=') ?? [];
    for (const host of ['localhost:80', '127.0.0.1:80', '[::1]:80', 'LOCALHOST:80'])
      expect([host, await status({ host, cookie: `gearmonkey-dashboard-80=${token}` })]).toEqual([host, 200]);
    expect(await status({ host: 'localhost', cookie: `${name}=${token}` })).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', '10.0.0.1'])
      expect([host, await status({ host })]).toEqual([host, 403]);
    for (const header of [
      ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-real-ip', 'x-original-host'],
      ...[
        'cf-connecting-ip',
        'true-client-ip',
        'x-envoy-external-address',
        'x-azure-clientip',
        'x-azure-ref',
      ],
      ...[
        'fly-client-ip',
        'fly-forwarded-port',
        'x-vercel-forwarded-for',
        'x-scheme',
        'x-host',
        'x_forwarded_for',
      ],
      ...['x_real_ip', 'forwarded-for', 'client-ip', 'x-client-ip', 'x-cluster-client-ip', 'x-remote-addr'],
      ...['cloudfront-viewer-address', 'x-amz-cf-id', 'x-amzn-trace-id', 'x-appengine-user-ip', 'cdn-loop'],
      ...['x-cloud-trace-context', 'x-nf-client-connection-ip', 'do-connecting-ip', 'x-sucuri-clientip'],
      ...['incap-client-ip', 'wl-proxy-client-ip', 'proxy-client-ip', 'ali-cdn-real-ip', 'cdn-src-ip'],
      ...['x-arr-log-id', 'front-end-https', 'x-rewrite-url', 'x-url-scheme', 'tailscale-user-login'],
      ...['fastly-ff', 'x-varnish', 'x-akamai-edgescape', 'akamai-origin-hop', 'x-proxyuser-ip'],
    ])
      expect([header, await status({ [header]: '127.0.0.1' })]).toEqual([header, 403]);
  });

  it('answers HTTP/1.0 by the same rules', async () => {
    const { base } = await serve();
    const answerTo = async (head: string) => {
      const socket = connect(Number(new URL(base).port), '127.0.0.1');
      let text = '';
      socket.on('data', (part: Buffer) => (text += part.toString()));
      socket.write(`GET /jobs/api/session HTTP/1.0\r\n${head}\r\n`);
      await once(socket, 'close');
      return text.slice(0, text.indexOf('\r\n'));
    };
    await expect(answerTo('')).resolves.toContain('403');
    await expect(answerTo('Host: localhost\r\n')).resolves.toContain('401');
    const cookie = `Cookie: ${cookieOf(base)}\r\n`;
    await expect(answerTo(`Host: ${new URL(base).host}\r\n${cookie}`)).resolves.toContain('200');
    await expect(answerTo(cookie)).resolves.toContain('403');
  });

  it('says that it refuses requests by a socket in the file system', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-dashboard-'));
    const socketPath = join(folder, 'app.sock');
    const app = await apps.create(platform, modules());
    const lines = linesOfLog();
    // Fastify takes an object only, and Express a path.
    await app.listen((platform === 'fastify' ? { path: socketPath } : socketPath) as never);
    expect(lines).toEqual([expect.stringContaining('refuses all requests by a socket in the file system')]);
    const sent = requestByHttp({
      socketPath,
      path: '/jobs/',
      headers: { host: 'localhost' },
      agent: false,
    }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(403);
    await app.close();
    await rm(folder, { recursive: true });
  });

  it('has the token of the environment, so that restarts and processes of one app share it', async () => {
    process.env[VARIABLE] = FIXED;
    const [one, two] = [await serve(), await serve()];
    for (const { app, base } of [one, two]) expect(urlOf(app)).toBe(`${base}/?token=${FIXED}`);
    process.env[VARIABLE] = '';
    expect(urlOf((await serve()).app)).not.toContain(FIXED);
    for (const wrong of ['short', 'with spaces in the text', 'semi;colon-semi;colon', 'x'.repeat(201)]) {
      process.env[VARIABLE] = wrong;
      const refused = apps.create(platform, modules());
      await expect(refused).rejects.toThrow(`$${VARIABLE} must be 16 to 200 letters`);
    }
  });

  it('has no token with `auth`', async () => {
    process.env[VARIABLE] = FIXED;
    const auth = () => undefined;
    let lines: string[] = [];
    const { app, base } = await apps.serve(platform, modules({ auth }), () => void (lines = linesOfLog()));
    expect([lines, urlOf(app)]).toEqual([[], '']);
    const cookie = `gearmonkey-dashboard-${new URL(base).port}=${FIXED}`;
    expect((await ask(base, '/', { headers: { cookie } })).status).toBe(401);
    expect((await ask(base, `/?token=${FIXED}`)).status).toBe(401);
  });

  it.each<[string, (app: INestApplication) => unknown, string]>([
    ['a global prefix', (app) => app.setGlobalPrefix('/tools/'), '/tools/jobs'],
    [
      'a global prefix that it is excluded from',
      (app) => app.setGlobalPrefix('tools', { exclude: ['jobs', 'jobs/{*rest}'] }),
      '/jobs',
    ],
    [
      'a global prefix that only changes are excluded from',
      (app) => app.setGlobalPrefix('tools', { exclude: [{ path: 'jobs', method: RequestMethod.POST }] }),
      '/tools/jobs',
    ],
    [
      'versions in paths',
      (app) => app.enableVersioning({ type: VersioningType.URI, defaultVersion: ['1', '2'] }),
      '/jobs',
    ],
    [
      'versions in a header',
      (app) =>
        app.enableVersioning({ type: VersioningType.HEADER, header: 'accept-version', defaultVersion: '1' }),
      '/jobs',
    ],
  ])('names its URL in an app with %s', async (_, configure, path) => {
    const { app, base } = await serve(configure);
    const at = base.replace('/jobs', path);
    expect(urlOf(app)).toContain(`${at}/?token=`);
    expect((await ask(at, '/')).status).toBe(200);
    expect((await ask(at, '/api/session')).status).toBe(200);
  });

  it('names its URL in an app whose `RouterModule` has put it elsewhere', async () => {
    const { imports } = modules();
    const moved = RouterModule.register([
      { path: 'inside', children: [{ path: 'here', module: DashboardModule }] },
    ]);
    const { app, base } = await apps.serve(platform, { imports: [...imports, moved] }, (made) => {
      made.setGlobalPrefix('tools');
    });
    const at = base.replace('/jobs', '/tools/inside/here/jobs');
    expect(urlOf(app)).toContain(`${at}/?token=`);
    expect((await ask(at, '/api/session')).status).toBe(200);
  });

  it('shows its token to no one who logs its objects', async () => {
    process.env[VARIABLE] = FIXED;
    const access = (await serve()).app.get(LocalAccess, { strict: false });
    expect(access.token).toBe(FIXED);
    for (const text of [inspect(access, { depth: 12, showHidden: true }), JSON.stringify(access)])
      expect(text).not.toContain(FIXED);
  });
});
