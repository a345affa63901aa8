import { Agent, type Server } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyModule, UnrecoverableError, Worker } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardModuleOptions } from 'nestjs-gearmonkey/dashboard';
import type {
  ActReply,
  BulkView,
  FailuresView,
  FunctionView,
  JobsView,
  JobView,
  PayloadView,
  ScheduleView,
  Session,
  StatisticsView,
  WorkersView,
} from '../../lib/dashboard/api.js';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { PLATFORMS, useServedApps, type Platform } from './dashboard-app.js';
import { ask, json, listen } from './http.js';

@Injectable()
class Handlers {
  @Worker('mail')
  mail(input: unknown) {
    return { sent: input };
  }

  @Worker('bad', { retry: { attempts: 1 } })
  bad() {
    throw new UnrecoverableError('no <b>disk</b> 7');
  }

  @Worker('held', { limit: { concurrency: 1 } })
  held() {
    return 1;
  }
}

describe.each(PLATFORMS)('the server of the dashboard on %s', (platform: Platform) => {
  const redis = useRedis();
  const apps = useServedApps();
  const servedWith = (url: string, options: DashboardModuleOptions = {}) =>
    apps.serve(platform, {
      imports: [GearMonkeyModule.forRoot({ connection: url }), DashboardModule.forRoot(options)],
      providers: [Handlers],
    });

  it.each([
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ])('shows and changes jobs of %s', async (name, url) => {
    const { app, base } = await servedWith(url());
    const client = app.get(GearMonkeyClient);
    const act = (body: object) => json<ActReply>(base, '/api/act', { body });

    const session = await json<Session>(base, '/api/session');
    expect(session).toMatchObject({ protocol: 1, user: 'local', readOnly: false });
    expect(session.instances).toMatchObject([
      { name: 'default', system: name === 'Redis' ? 'gearmonkey' : 'memory' },
    ]);

    const { id = '' } = await act({ action: 'run', fn: 'mail', input: '{"to":"a"}' });
    await client.result('mail', id, { timeout: '60s' });
    const job = await json<JobView>(base, `/api/job?fn=mail&id=${id}`);
    expect(job).toMatchObject({ id, fn: 'mail', state: 'succeeded', attempts: 1, input: { bytes: 10 } });
    expect(job.actions).toContain('retry');
    const output = await json<PayloadView>(base, `/api/payload?fn=mail&id=${id}&part=output`);
    expect(output).toMatchObject({ text: '{"sent":{"to":"a"}}', cut: false, redacted: false });

    for (let count = 0; count < 3; count++)
      await client.run('bad', { count }, { blocking: true, timeout: '60s' });
    const failures = await json<FailuresView>(base, '/api/failures?fn=bad');
    expect(failures).toMatchObject({ looked: 3, total: 3 });
    const [group] = failures.groups;
    expect(group).toMatchObject({ count: 3, message: 'no <b>disk</b> <n>' });
    const dry = { action: 'discard', fn: 'bad', which: { state: 'failed', group: group?.group }, dry: true };
    expect(await act(dry)).toMatchObject({ count: 3 });
    const { bulk = '' } = await act({ ...dry, dry: undefined });
    const done = await until(async () => {
      const view = await json<BulkView>(base, `/api/bulk?id=${bulk}`);
      return view.ended !== undefined && view;
    });
    expect(done).toMatchObject({ done: 3, of: 3, state: 'done' });

    await act({ action: 'pause', fn: 'mail' });
    expect(await client.isPaused('mail')).toBe(true);
    const waiting = await client.runMany('mail', [1, 2, 3]);
    const list = await json<JobsView>(base, '/api/jobs?fn=mail&state=waiting&size=2');
    expect(list).toMatchObject({ total: 3, jobs: [{ id: waiting[2]?.id }, { id: waiting[1]?.id }] });
    await act({ action: 'edit', fn: 'mail', id: waiting[0]?.id, input: '"edited"' });
    expect((await client.get('mail', waiting[0]?.id ?? ''))?.input).toBe('edited');
    const run = await act({ action: 'cancel', fn: 'mail', which: { state: 'waiting' } });
    await until(async () => (await json<BulkView>(base, `/api/bulk?id=${run.bulk}`)).ended);
    expect((await json<JobsView>(base, '/api/jobs?fn=mail&state=waiting')).total).toBe(0);
    await act({ action: 'resume', fn: 'mail' });
    const found = await json<JobsView>(base, `/api/find?fn=mail&id=${id}`);
    expect(found).toMatchObject({ total: 1, jobs: [{ id, state: 'succeeded' }] });

    await client.recur('mail', { id: 'daily', cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', input: 1 });
    const [schedule] = await json<ScheduleView[]>(base, '/api/schedules');
    expect(schedule).toMatchObject({ id: 'daily', words: 'weekdays at 9:00, Europe/Berlin' });
    expect(schedule?.next).toHaveLength(5);
    expect(schedule?.last).toEqual([]);
    const ticked = await act({ action: 'schedule-run', fn: 'mail', schedule: 'daily' });
    await client.result('mail', ticked.id ?? '', { timeout: '60s' });
    await act({ action: 'schedule-pause', fn: 'mail', schedule: 'daily' });
    expect((await client.schedules.get('daily'))?.paused).toBe(true);
    const other = { action: 'schedule-run', fn: 'bad', schedule: 'daily' };
    expect((await ask(base, '/api/act', { body: other })).status).toBe(404);

    await client.run('held', 1, { blocking: true, timeout: '60s' });
    await act({ action: 'limit-set', fn: 'held', limit: { concurrency: 2 } });
    await act({ action: 'limit-reset', fn: 'held' });
    expect(await json(base, '/api/limits?fn=held')).toEqual(expect.any(Array));

    const overview = await json<FunctionView[]>(base, '/api/overview');
    expect(overview.map(({ fn }) => fn)).toEqual(['bad', 'held', 'mail']);
    expect(overview[2]).toMatchObject({ act: true, paused: false, workers: 1 });
    const workers = await json<WorkersView>(base, '/api/workers');
    expect(workers.functions).toHaveLength(3);
    expect(workers.workers[0]).toMatchObject({ lost: false });
    const statistics = await json<StatisticsView[]>(base, '/api/statistics?by=hour');
    expect(statistics.length).toBeGreaterThan(20);
  });

  it('has no page of another site change anything, and takes only JSON', async () => {
    const { app, base } = await servedWith('memory:');
    const body = { action: 'pause', fn: 'mail' };
    const refused = async (headers: Record<string, string>) => {
      const { status, text } = await ask(base, '/api/act', { body, headers });
      return [status, (JSON.parse(text) as { code: string }).code];
    };
    for (const site of ['cross-site', 'same-site', 'none', ''])
      expect(await refused({ 'sec-fetch-site': site })).toEqual([403, 'CROSS_SITE']);
    expect(await refused({ origin: 'https://evil.example' })).toEqual([403, 'CROSS_SITE']);
    expect(await refused({ origin: 'null' })).toEqual([403, 'CROSS_SITE']);
    expect(await refused({ 'content-type': 'text/plain' })).toEqual([415, 'NOT_JSON']);
    expect(await app.get(GearMonkeyClient).isPaused('mail')).toBe(false);
    const host = new URL(base).host;
    expect((await ask(base, '/api/act', { body, headers: { origin: `http://${host}` } })).status).toBe(200);
    expect((await ask(base, '/api/act?action=pause&fn=mail')).status).toBe(404);
  });

  it('tells nothing to the script of another page, whatever CORS the app has', async () => {
    const { base } = await servedWith('memory:');
    const status = async (headers: Record<string, string>) =>
      (await ask(base, '/api/overview', { headers })).status;
    const origin = 'http://127.0.0.1:1';
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(await status({ 'sec-fetch-site': site, 'sec-fetch-mode': 'cors', origin })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' })).toBe(403);
    expect(await status({ origin })).toBe(403);
    expect(await status({ origin: 'null' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' })).toBe(200);
    expect(await status({ origin: new URL(base).origin })).toBe(200);
    expect(await status({})).toBe(200);
  });

  it('tells no page of another site what is there, and is opened by its links', async () => {
    const { base } = await servedWith('memory:');
    const status = async (site: string, mode: string, shown: string) => {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': shown };
      const answers = await Promise.all(['/', '/api/session'].map((path) => ask(base, path, { headers })));
      return answers.map((answer) => answer.status);
    };
    for (const site of ['cross-site', 'same-site']) {
      for (const shown of ['empty', 'script', 'style', 'image'])
        expect(await status(site, 'no-cors', shown)).toEqual([403, 403]);
      for (const shown of ['iframe', 'object', 'embed'])
        expect(await status(site, 'navigate', shown)).toEqual([403, 403]);
      expect(await status(site, 'navigate', 'document')).toEqual([200, 200]);
    }
    expect(await status('none', 'navigate', 'document')).toEqual([200, 200]);
    expect(await status('same-origin', 'no-cors', 'script')).toEqual([200, 200]);
  });

  it('serves the page with strict headers, and redirects relatively', async () => {
    const { base } = await servedWith('memory:');
    const moved = await ask(base, '');
    expect([moved.status, moved.headers.location]).toEqual([302, 'jobs/']);
    const page = await ask(base, '/');
    expect([page.status, page.text.slice(0, 300)]).toEqual([200, expect.stringContaining('<title>')]);
    expect(page.headers['content-type']).toContain('text/html');
    for (const { headers } of [page, moved, await ask(base, '/api/session'), await ask(base, '/api/jobs')]) {
      expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cache-control']).toContain('no-store');
    }
    for (const path of ['/nothing.js', '/..%2f..%2fpackage.json', '/assets/..%2f..%2findex.js'])
      expect((await ask(base, path)).status).toBe(404);
  });

  it('shows the workers of all functions but those whose key is none of ours', async () => {
    const { app, base } = await servedWith(redis.url);
    await app.get(GearMonkeyClient).run('spoiled', 1);
    await redis.redis.set('workers:spoiled', 'no set');
    const all = await json<WorkersView>(base, '/api/workers');
    expect(all.workers.flatMap(({ functions }) => functions)).toContain('mail');
    expect(all.functions.map(({ fn }) => fn)).toContain('spoiled');
    await redis.redis.del('workers:spoiled');
  });

  it('is under the global prefix of the app', async () => {
    const metadata = {
      imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), DashboardModule.forRoot()],
    };
    const { base } = await apps.serve(platform, metadata, (app) => void app.setGlobalPrefix('tools'));
    const at = base.replace('/jobs', '/tools/jobs');
    const moved = await ask(at, '');
    expect([moved.status, moved.headers.location]).toEqual([302, 'jobs/']);
    expect((await ask(at, '/')).status).toBe(200);
    expect((await json<Session>(at, '/api/session')).user).toBe('local');
    expect((await ask(base, '/api/session')).status).toBe(404);
  });

  it('sends what changes as events', async () => {
    const { app, base } = await servedWith(redis.url);
    const client = app.get(GearMonkeyClient);
    const { id } = await client.run('mail', 1, { blocking: true, timeout: '60s' });
    const live = listen(base, [{ overview: 'default' }, { job: id, fn: 'mail' }]);
    const event = (name: string) => until(() => live.events.find((one) => one.name === name));
    expect((await event('overview')).data).toMatchObject({ i: 'default', gone: [] });
    expect((await event('job')).data).toMatchObject({ id, job: { state: 'succeeded' } });
    live.close();
    const bad = await ask(base, '/api/live?topics=x');
    expect(bad.status).toBe(400);
  });

  it('ends streams when the app closes', async () => {
    const { app, base } = await servedWith('memory:');
    const live = listen(base, [{ overview: 'default' }]);
    await until(() => live.events.length > 0);
    await app.close();
    await until(() => live.hasEnded());
    expect(live.events.at(-1)).toMatchObject({ name: 'bye' });
  });

  it('ends the connection of a page that asks again while the app closes', async () => {
    const [asked, answer] = [gate(), gate()];
    let held = true;
    const auth = async () => {
      asked.open();
      if (held) await answer.passed;
      held = false;
      return { name: 'ada', view: true, act: false };
    };
    const { app, base } = await servedWith('memory:', { auth });
    // A browser uses a connection again, and asks on it every few seconds.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const again = () => ask(base, '/api/session', { agent });
    const first = again();
    await asked.passed;
    const closed = app.close();
    await until(() => !(app.getHttpServer() as Server).listening);
    answer.open();
    expect((await first).status).toBe(200);
    const { status, headers } = await again();
    expect([status, headers.connection]).toEqual([503, 'close']);
    await closed;
    await expect(again()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
