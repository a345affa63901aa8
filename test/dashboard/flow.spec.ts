import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers, type FlowNode } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardModuleOptions } from 'nestjs-gearmonkey/dashboard';
import type { ApiError, FlowView, JobView } from '../../lib/dashboard/api.js';
import { jobsOf } from '../../dashboard/src/flow-jobs.js';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json } from './http.js';

const node = (job: string, ...children: FlowNode[]): FlowNode => ({ job, input: null, children });

describe('flows of the dashboard', () => {
  const redis = useRedis();
  const apps = useServedApps();
  const servers: [string, () => string][] = [
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ];

  async function serve(connection: string, options: DashboardModuleOptions = {}, hashTag = false) {
    const { app, base } = await apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection, ...(hashTag && { hashTag }) }),
        DashboardModule.forRoot(options),
      ],
    });
    const flowOf = async (fn: string, id = '', more = '') => {
      const view = await json<FlowView>(base, `/api/flow?fn=${encodeURIComponent(fn)}&id=${id}${more}`);
      const { functions, members, ...rest } = view;
      return { ...rest, members: jobsOf({ ...rest, functions, members }) };
    };
    const refusalOf = async (path: string) => {
      const { status, text } = await ask(base, path);
      return [status, (JSON.parse(text) as ApiError).code];
    };
    return {
      base,
      client: app.get(GearMonkeyClient),
      workers: app.get(GearMonkeyWorkers),
      flowOf,
      refusalOf,
    };
  }

  it.each(servers)('of %s are shown with how far they are and who waits for whom', async (_, url) => {
    const { base, client, workers, flowOf } = await serve(url());
    const [first, left, right, last] = ['first', 'left', 'right', 'last'].map((name) => redis.fn(name)) as [
      string,
      string,
      string,
      string,
    ];
    const go = gate();
    await workers.add(first, () => go.passed);
    for (const fn of [left, last]) await workers.add(fn, () => 1);
    await workers.add(
      right,
      () => {
        throw new Error('as told');
      },
      { retry: { attempts: 1 } },
    );
    const end = node(last);
    const flow = await client.flow(node(first, node(left, end), node(right, end)));
    const ids = flow.jobs.map(({ id }) => id);
    const of = (fn: string) => ({ fn, id: flow.jobs.find((job) => job.fn === fn)?.id });
    await eventually(async () => expect((await flow.root.get()).state).toBe('running'));
    const view = await flowOf(last, flow.jobOf(end)?.id);
    expect(view).toEqual({
      ...{ done: 0, failed: 0, total: 4, hidden: 0 },
      members: expect.arrayContaining([
        { ...of(first), state: 'running', parents: [] },
        { ...of(left), state: 'scheduled', parents: [of(first)] },
        { ...of(right), state: 'scheduled', parents: [of(first)] },
        { ...of(last), state: 'scheduled', parents: expect.arrayContaining([of(left), of(right)]) },
      ]),
    });
    expect(view.members.map(({ id }) => id)).toEqual(ids);
    const job = await json<JobView>(base, `/api/job?fn=${last}&id=${flow.jobOf(end)?.id}`);
    expect(job).toMatchObject({ state: 'scheduled', flow: true, waitsForJobs: 2 });
    for (const field of ['flow', 'after', 'place', 'held']) expect(job.more).not.toHaveProperty(field);
    go.open();
    await eventually(async () =>
      expect(await flowOf(first, flow.root.id)).toMatchObject({ done: 2, failed: 2, total: 4 }),
    );
    const { members } = await flowOf(first, flow.root.id);
    expect(members.map(({ fn, state }) => [fn, state])).toEqual(
      expect.arrayContaining([
        [first, 'succeeded'],
        [left, 'succeeded'],
        [right, 'failed'],
        [last, 'failed'],
      ]),
    );
  });

  it.each(servers)('of %s are read 300 jobs at a time', async (_, url) => {
    const { client, flowOf } = await serve(url());
    const fn = redis.fn();
    const flow = await client.flow(node(fn, ...Array.from({ length: 650 }, () => node(fn))));
    const { id } = flow.root;
    const sizes: [number, number | undefined][] = [];
    const seen = new Set<string>();
    for (let from: number | undefined = 0; from !== undefined;) {
      const page: Awaited<ReturnType<typeof flowOf>> = await flowOf(fn, id, `&from=${from}`);
      expect(page.total).toBe(651);
      sizes.push([page.members.length, page.next]);
      for (const member of page.members) seen.add(member.id);
      from = page.next;
    }
    expect(sizes).toEqual([
      [300, 300],
      [300, 600],
      [51, undefined],
    ]);
    expect(seen.size).toBe(651);
    expect((await flowOf(fn, id, '&from=9000')).members).toEqual([]);
  });

  it.each(servers)('of %s name all parents that can be shown, and 1,000 at most', async (_, url) => {
    const { client, flowOf } = await serve(url());
    const fn = redis.fn();
    const end = node(fn);
    const flow = await client.flow(node(fn, ...Array.from({ length: 1010 }, () => node(fn, end))));
    const { members } = await flowOf(fn, flow.root.id, '&from=900');
    const last = members.find(({ id }) => id === flow.jobOf(end)?.id);
    expect(last?.parents.map(({ id }) => id)).toEqual(flow.jobs.slice(1, 1001).map(({ id }) => id));
  });

  it.each(servers)('of %s leave out and count jobs that the user may not view', async (_, url) => {
    const asked: string[] = [];
    const auth = () => ({
      name: 'eye',
      view: (fn: string) => {
        asked.push(fn);
        return !fn.startsWith('secret');
      },
      act: false,
    });
    const { client, flowOf, refusalOf } = await serve(url(), { auth });
    const [secret, open] = [redis.fn('secret'), redis.fn('open')];
    const end = node(open);
    const flow = await client.flow(node(secret, ...[1, 2, 3].map(() => node(secret, end)), node(open, end)));
    const shown = await flowOf(open, flow.jobOf(end)?.id);
    expect(shown).toMatchObject({ total: 6, hidden: 4 });
    expect(shown.members.map(({ fn }) => fn)).toEqual([open, open]);
    expect(JSON.stringify(shown)).not.toContain('secret');
    expect(asked.filter((fn) => fn === secret)).toHaveLength(1);
    expect(await refusalOf(`/api/flow?fn=${secret}&id=${flow.root.id}`)).toEqual([403, 'NOT_ALLOWED']);
  });

  it.each(servers)('of %s get jobs that are added, and there is none of other jobs', async (_, url) => {
    const { base, client, flowOf, refusalOf } = await serve(url());
    const fn = redis.fn();
    const flow = await client.flow(node(fn));
    const added = await client.run(fn, 1, { after: [flow.root] });
    const view = await flowOf(fn, added.id);
    expect(view).toMatchObject({
      total: 2,
      members: [{ id: flow.root.id }, { id: added.id, state: 'scheduled' }],
    });
    expect(view.members[1]?.parents).toEqual([{ fn, id: flow.root.id }]);
    const alone = await client.run(fn, 1);
    const behind = await client.run(fn, 1, { after: [alone] });
    const job = await json<JobView>(base, `/api/job?fn=${fn}&id=${behind.id}`);
    expect(job).toMatchObject({ state: 'scheduled', waitsForJobs: 1 });
    expect(job).not.toHaveProperty('flow');
    for (const { id } of [alone, behind])
      expect(await refusalOf(`/api/flow?fn=${fn}&id=${id}`)).toEqual([404, 'NOT_FOUND']);
    expect(await refusalOf(`/api/flow?fn=${fn}&id=999`)).toEqual([404, 'JOB_NOT_FOUND']);
    for (const wrong of ['id=x', `id=${added.id}&from=x`, `id=${added.id}&from=-1`, 'id='])
      expect(await refusalOf(`/api/flow?fn=${fn}&${wrong}`)).toEqual([400, 'INVALID_REQUEST']);
  });

  it("say which jobs are no longer kept, are of another type, or have another's id", async () => {
    const { client, flowOf } = await serve(redis.url);
    const fn = redis.fn();
    const parts = Array.from({ length: 4 }, () => node(fn));
    const flow = await client.flow(node(fn, ...parts));
    const [gone = '', list = '', other = '', kept = ''] = parts.map((part) => flow.jobOf(part)?.id);
    await redis.redis.del(`job:${fn}:${gone}`, `job:${fn}:${list}`, `job:${fn}:${kept}:parents`);
    await redis.redis.rpush(`job:${fn}:${list}`, 'x');
    await redis.redis.set(`job:${fn}:${kept}:parents`, 'x');
    await redis.redis.hset(`job:${fn}:${other}`, 'mark', '1');
    const { members } = await flowOf(fn, flow.root.id);
    expect(members.slice(1).map(({ state, parents }) => [state, parents.length])).toEqual([
      ['gone', 0],
      ['gone', 0],
      ['gone', 0],
      ['scheduled', 0],
    ]);
  });

  it('are found if their functions have hash tags', async () => {
    for (const [fn, hashTag] of [
      [redis.fn(), true],
      [`{${redis.fn()}}`, false],
      [`{${redis.fn()}}:part`, true],
    ] as const) {
      const { client, flowOf } = await serve(redis.url, {}, hashTag);
      const end = node(fn);
      const flow = await client.flow(node(fn, end));
      const { members } = await flowOf(fn, flow.jobOf(end)?.id);
      expect(members.map((member) => member.fn)).toEqual([fn, fn]);
    }
  });

  it('are not shown where another program has written something else', async () => {
    const { client, flowOf, refusalOf } = await serve(redis.url);
    const fn = redis.fn();
    const flow = await client.flow(node(fn));
    const key = `job:${fn}:${flow.root.id}`;
    const field = (await redis.redis.hget(key, 'flow')) ?? '';
    const name = field.split(':')[0] ?? '';
    expect(field).toBe(`${name}:${fn}`);
    for (const text of [
      '',
      'x',
      `${name}:`,
      `${name}:none`,
      `${name}:a b`,
      `../${field}`,
      `x\n:${fn}`,
      '{}:{}',
    ]) {
      await redis.redis.hset(key, 'flow', text);
      expect([text, await refusalOf(`/api/flow?fn=${fn}&id=${flow.root.id}`)]).toEqual([
        text,
        [404, 'NOT_FOUND'],
      ]);
    }
    await redis.redis.hset(key, { flow: field, status: '<b>' });
    const foreign = ['7:0:a b', `8:0:${'x'.repeat(300)}`, 'nothing', ''];
    await redis.redis.rpush(`job:${fn}:flow:${name}:jobs`, ...foreign);
    const numbers = { done: '-1', failed: 'NaN', total: '1e308' };
    await redis.redis.hset(`job:${fn}:flow:${name}`, numbers);
    const view = await flowOf(fn, flow.root.id);
    expect(view).toMatchObject({
      done: 0,
      failed: 0,
      total: 0,
      hidden: 2,
      members: [{ fn, state: 'waiting' }],
    });
    expect(view.members).toHaveLength(1);
  });
});
