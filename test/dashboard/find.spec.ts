import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyModule, UnrecoverableError, Worker } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { ActReply, BulkView, JobsView } from '../../lib/dashboard/api.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

@Injectable()
class Handlers {
  @Worker('bad', { retry: { attempts: 1 } })
  bad(input: { secret: string }) {
    throw new UnrecoverableError(`no disk for ${input.secret}`);
  }

  @Worker('worse', { retry: { attempts: 1 } })
  worse() {
    throw new UnrecoverableError('no disk');
  }
}

const auth = () => ({ name: 'eye', view: (fn: string) => fn !== 'secret', act: true });
const redact = ({ text }: { text: string }) => text.replaceAll('4111', '****');

describe('jobs of the dashboard', () => {
  const redis = useRedis();
  const apps = useServedApps();
  const servers: [string, () => string][] = [
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ];
  const serve = (connection: string) =>
    apps.serve('express', {
      imports: [GearMonkeyModule.forRoot({ connection }), DashboardModule.forRoot({ auth, redact })],
      providers: [Handlers],
    });

  it.each(servers)('of %s are found by tag, key and id, without payloads', async (_, url) => {
    const { app, base } = await serve(url());
    const client = app.get(GearMonkeyClient);
    const tags = ['order:7', '<b>&"'];
    const { id } = await client.run('bad', { secret: '4111' }, { tags });
    await until(async () => (await client.get('bad', id))?.state === 'failed');
    const other = await client.run('idle', 1, { unique: { key: 'one' }, tags: ['order:7'] });

    const find = (query: string) => json<JobsView>(base, `/api/find?${query}`);
    const byTag = await find('fn=bad&tag=order:7');
    expect(byTag).toMatchObject({ total: 1, jobs: [{ id, fn: 'bad', state: 'failed', tags }] });
    expect(byTag.jobs[0]?.error?.message).toBe('no disk for ****');
    expect(Object.keys(byTag.jobs[0] ?? {})).not.toEqual(expect.arrayContaining(['input']));
    expect(byTag.jobs[0]?.error).not.toHaveProperty('stack');
    expect(await find(`fn=bad&tag=${encodeURIComponent('<b>&"')}`)).toEqual(byTag);
    expect(await find('fn=idle&key=one')).toMatchObject({ total: 1, jobs: [{ id: other.id }] });
    expect(await find(`fn=bad&id=${id}`)).toEqual(byTag);
    for (const none of ['tag=order:8', 'key=two', 'id=77', 'id=send:1'])
      expect(await find(`fn=bad&${none}`)).toEqual({ jobs: [], total: 0 });
  });

  it.each(servers)('of %s are found page by page', async (_, url) => {
    const { app, base } = await serve(url());
    await app.get(GearMonkeyClient).runMany('idle', [1, 2, 3], { tags: ['all'] });
    const ids: string[] = [];
    for (let page: string | undefined = ''; page !== undefined;) {
      const query = `fn=idle&tag=all&size=2&order=oldest&page=${encodeURIComponent(page)}`;
      const found: JobsView = await json<JobsView>(base, `/api/find?${query}`);
      ids.push(...found.jobs.map(({ id }) => id));
      page = found.next;
    }
    expect(ids).toEqual([...ids].sort((one, two) => Number(one) - Number(two)));
    expect(new Set(ids).size).toBe(3);
  });

  it('are not found by people who may not see the function, nor by nonsense', async () => {
    const { base } = await serve('memory:');
    const status = async (query: string) => (await ask(base, `/api/find?${query}`)).status;
    expect(await status('fn=secret&tag=a')).toBe(403);
    for (const bad of ['', 'tag=', 'key=', 'id=', 'tag=a&tag=b', `tag=${'x'.repeat(129)}`, 'tag=a&size=999'])
      expect([bad, await status(`fn=bad&${bad}`)]).toEqual([bad, 400]);
  });

  it.each(servers)('of %s are retried and discarded by their tags', async (_, url) => {
    const { app, base } = await serve(url());
    const client = app.get(GearMonkeyClient);
    const act = (body: object) => json<ActReply>(base, '/api/act', { body });
    const tagged = await client.runMany('worse', [{ secret: '1' }, { secret: '2' }], { tags: ['a'] });
    await client.run('worse', { secret: '3' }, { tags: ['b'] });
    await until(async () => (await client.list('worse', { state: 'failed' })).total === 3);
    const which = { state: 'failed', tag: 'a' };
    const discard = { action: 'discard', fn: 'worse', which };
    expect(await act({ ...discard, dry: true })).toEqual({ ok: true, count: 2 });
    const [group] = await client.failures('worse');
    const ofGroup = { ...which, group: group?.group };
    expect(await act({ ...discard, which: ofGroup, dry: true })).toMatchObject({ count: 2 });
    const early = { ...which, before: '2020-01-01T00:00:00Z' };
    expect(await act({ ...discard, which: early, dry: true })).toMatchObject({ count: 0 });

    const ended = async ({ bulk = '' }: ActReply) =>
      until(async () => {
        const view = await json<BulkView>(base, `/api/bulk?id=${bulk}`);
        return view.ended !== undefined && view;
      });
    const retried = await ended(await act({ ...discard, action: 'retry', which: { ...which, tag: 'b' } }));
    expect(retried).toMatchObject({ done: 1, state: 'done' });
    const discarded = await ended(await act(discard));
    expect(discarded).toMatchObject({ done: 2, of: 2, state: 'done' });
    expect(await client.get('worse', tagged[0]?.id ?? '')).toBeNull();
    const bad = { action: 'cancel', fn: 'worse', which: { state: 'waiting', tag: 'a' } };
    expect((await ask(base, '/api/act', { body: bad })).status).toBe(400);
    for (const tag of ['', 7, {}])
      expect((await ask(base, '/api/act', { body: { ...discard, which: { ...which, tag } } })).status).toBe(
        400,
      );
  });
});
