import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { once } from 'node:events';
import { Agent, type Server } from 'node:http';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import {
  DashboardModule,
  type DashboardModuleOptions,
  type DashboardRequest,
} from 'nestjs-gearmonkey/dashboard';
import type { LiveEvents } from '../../lib/dashboard/api.js';
import { LiveUpdates } from '../../lib/dashboard/live.js';
import { realNow } from '../../lib/job/real-time.js';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, listen } from './http.js';

const FUNCTIONS = 200;
const TABS = 20;
/** The reader's limit, and a second's worth that may fall into a second more. */
const MOST_A_SECOND = 50;

/** As if its pages had been open for a minute. */
function agePagesOf(app: INestApplication): void {
  for (const stream of app.get(LiveUpdates, { strict: false })['streams'])
    Object.assign(stream, { openedAt: realNow() - 61_000 });
}

describe('live updates', () => {
  const redis = useRedis();
  const apps = useServedApps();
  let isSignedIn = true;
  afterEach(() => {
    isSignedIn = true;
    jest.restoreAllMocks();
  });
  const serve = (options: DashboardModuleOptions = {}) =>
    apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection: redis.url, workers: false }),
        DashboardModule.forRoot(options),
      ],
    });
  /** Calls of clients: scripts, and the commands that no script makes. */
  async function questions(): Promise<number> {
    const text = await redis.redis.info('commandstats');
    const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
    return calls('evalsha') + calls('zrevrange') + calls('hgetall');
  }

  it('read once for all tabs, at most 50 questions a second, and nothing without a tab', async () => {
    const { app, base } = await serve();
    const client = app.get(GearMonkeyClient);
    for (let index = 0; index < FUNCTIONS; index++) await client.run(`fn${index}`, index);
    await until(async () => (await redis.redis.zcard('functions')) === FUNCTIONS);
    const tabs = Array.from({ length: TABS }, () => listen(base, [{ overview: 'default' }]));
    const overviewsOf = ({ events }: (typeof tabs)[number]) =>
      events
        .filter(({ name }) => name === 'overview')
        .flatMap(({ data }) => (data as LiveEvents['overview']).functions);
    await until(() => tabs.every((tab) => overviewsOf(tab).length >= FUNCTIONS), { timeout: 60_000 });

    const [begun, first] = [performance.now(), await questions()];
    // A round of 200 functions takes four seconds or more: the next change arrives with it.
    await client.run('fn7', 'more');
    await until(() => tabs.every((tab) => overviewsOf(tab).length > FUNCTIONS), { timeout: 60_000 });
    const seconds = (performance.now() - begun) / 1000;
    const asked = (await questions()) - first;
    // A batch more may fall into the time, and the enqueue is one.
    expect(asked).toBeLessThanOrEqual(MOST_A_SECOND * (seconds + 1) + 1);

    for (const tab of tabs) tab.close();
    // What was under way ends; then two looks find the same.
    await until(async () => quiet(await questions()), { timeout: 60_000 });
  });

  /** Whether nothing was asked in three seconds, which is longer than a pause between rounds. */
  async function quiet(before: number): Promise<boolean> {
    const begun = performance.now();
    await until(() => performance.now() - begun > 3000, { interval: 100 });
    return (await questions()) === before;
  }

  const auth = ({ headers }: DashboardRequest) =>
    isSignedIn ? { name: String(headers['x-user'] ?? ''), view: true, act: false } : undefined;
  const as = (user: string) => ({ 'x-user': user });
  const listeners = (base: string, user: string, count: number) =>
    Array.from({ length: count }, () => listen(base, [], as(user)));
  const haveBegun = (tabs: ReturnType<typeof listeners>) =>
    until(() => tabs.every((tab) => tab.hasBegun()), { timeout: 60_000 });

  it('have at most 200 listeners, and 20 of a user, of whom the oldest gives way', async () => {
    const { base } = await serve({ auth });
    const first = listen(base, [], as('user 0'));
    await until(() => first.hasBegun());
    const others = [
      ...listeners(base, 'user 0', 19),
      ...Array.from({ length: 9 }, (_, user) => listeners(base, `user ${user + 1}`, 20)).flat(),
    ];
    await haveBegun(others);
    expect(first.hasEnded()).toBe(false);
    expect((await ask(base, '/api/live?topics=[]', { headers: as('one more') })).status).toBe(429);
    const late = listen(base, [], as('user 0'));
    await until(() => first.hasEnded());
    expect(first.events).toEqual([{ name: 'bye', data: { why: 'too many pages of this user listen' } }]);
    await until(() => late.hasBegun());
    expect([late, ...others].filter((tab) => tab.hasEnded())).toEqual([]);
    for (const tab of [late, ...others]) tab.close();
  });

  it('have 20 listeners of an address, if users have no names', async () => {
    const { base } = await serve({ auth });
    const first = listen(base, [], as(''));
    await until(() => first.hasBegun());
    const others = listeners(base, '', 20);
    await until(() => first.hasEnded());
    await haveBegun(others);
    for (const tab of others) tab.close();
  });

  /** Requests of streams on one connection. */
  async function requested(base: string, count: number) {
    const { port, hostname } = new URL(base);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const one = `GET /jobs/api/live?topics=[] HTTP/1.1\r\nHost: ${hostname}\r\nX-User: ada\r\n\r\n`;
    socket.write(one.repeat(count));
    return socket;
  }
  const openSockets = (app: INestApplication) =>
    new Promise<number>((resolve, reject) =>
      (app.getHttpServer() as Server).getConnections((error, count) =>
        error ? reject(error) : resolve(count),
      ),
    );
  const placesOf = (app: INestApplication) => app.get(LiveUpdates, { strict: false })['streams'].size;

  it('hold no place for clients that leave before they are let in', async () => {
    const [asked, letIn] = [gate(), gate()];
    const { app, base } = await serve({
      auth: async () => {
        asked.open();
        await letIn.passed;
        return { name: 'ada', view: true, act: false };
      },
    });
    const prepared = jest.spyOn(app.get(LiveUpdates, { strict: false }), 'prepare');
    const socket = await requested(base, 1);
    await asked.passed;
    socket.destroy();
    // The server has seen that when it answers another.
    await until(async () => (await openSockets(app)) === 0);
    letIn.open();
    await until(() => prepared.mock.calls.length === 1);
    await until(() => placesOf(app) === 0);
  });

  it('hold no place for requests that wait behind another of their connection, when that ends', async () => {
    const { app, base } = await serve({ auth });
    const socket = await requested(base, 3);
    await until(() => placesOf(app) === 3);
    socket.destroy();
    await until(() => placesOf(app) === 0);
  });

  it('hold no place for a request that wants no body', async () => {
    const { base } = await serve({});
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(base, '/api/live?topics=[]', { method: 'HEAD', agent })).status).toBe(200);
    let next: number | undefined;
    void ask(base, '/api/session', { agent }).then(({ status }) => (next = status));
    await until(() => next === 200);
    agent.destroy();
  });

  it('end a minute later at the latest, also while a server takes its time', async () => {
    const { app, base } = await serve({ auth });
    const tab = listen(base, [{ overview: 'default' }], as('ada'));
    await until(() => tab.events.length > 0);
    await redis.redis.client('PAUSE', 60_000, 'WRITE');
    try {
      agePagesOf(app);
      await until(() => tab.hasEnded());
    } finally {
      await redis.redis.client('UNPAUSE');
    }
  });

  it('name 20 functions at most', async () => {
    const { base } = await serve({ auth });
    const named = (each: number) =>
      encodeURIComponent(
        JSON.stringify(
          [0, 1].map((topic) => ({
            overview: '',
            fns: Array.from({ length: each }, (_, i) => `f${topic}${i}`),
          })),
        ),
      );
    const [most, more] = await Promise.all(
      [10, 11].map((each) =>
        ask(base, `/api/live?topics=${named(each)}`, { method: 'HEAD', headers: as('ada') }),
      ),
    );
    expect([most?.status, more?.status]).toEqual([200, 400]);
  });

  it('end a minute later at the latest when the rights of a user are withdrawn', async () => {
    const { app, base } = await serve({ auth });
    const tab = listen(base, [{ overview: 'default' }], as('ada'));
    await until(() => tab.events.length > 0);
    isSignedIn = false;
    agePagesOf(app);
    await until(() => tab.hasEnded());
    expect(tab.events.at(-1)).toEqual({ name: 'bye', data: { why: 'connect again' } });
    expect((await ask(base, '/api/live?topics=[]', { headers: as('ada') })).status).toBe(401);
  });
});
