import { describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { DashboardModuleOptions } from 'nestjs-gearmonkey/dashboard';
import { JqClient } from 'nestjs-gearmonkey/jq';
import { QlessClient } from 'nestjs-gearmonkey/qless';
import type {
  Action,
  ActReply,
  FunctionView,
  LiveEvents,
  NativeRow,
  NativeView,
  Session,
} from '../../lib/dashboard/api.js';
import { eventually, until } from '../support/until.js';
import { ask, json, listen } from './http.js';
import { FAILING, JOBS, SYSTEMS, useSystems, type SystemName } from './use-systems.js';

describe('the dashboard of', () => {
  const { serve: serveSystem, master } = useSystems();

  async function serve(name: SystemName, options?: DashboardModuleOptions) {
    const served = await serveSystem(name, options);
    const { base, fn } = served;
    const native = (view: string, page = '') =>
      json<NativeView>(base, `/api/native?view=${view}&page=${encodeURIComponent(page)}`);
    const act = (body: object) => json<ActReply>(base, '/api/act', { body: { fn, ...body } });
    const row = (view: string, key: string) =>
      json<NativeRow>(base, `/api/native/row?view=${view}&key=${encodeURIComponent(key)}`);
    return { ...served, native, act, row };
  }

  it.each(SYSTEMS)('%s shows its queues, and only what it can', async (name) => {
    const { base, fn, views, verbs, run, enqueue, native } = await serve(name);
    for (let jobs = 0; jobs < 3; jobs++) await enqueue();
    const { instances } = await json<Session>(base, '/api/session');
    expect(instances).toEqual([
      {
        ...{ name: 'default', system: name, actions: verbs, can: ['overview', 'native'] },
        ...{ native: views, run },
      },
    ]);
    const live = listen(base, [{ overview: 'default' }]);
    await eventually(
      async () => {
        const shown = (await json<FunctionView[]>(base, '/api/overview')).find((one) => one.fn === fn);
        expect(shown).toMatchObject({ fn, act: true, waiting: { high: 0, normal: 2, low: 0 } });
      },
      { timeout: 30_000 },
    );
    await until(() =>
      live.events.some(({ name: event, data }) => {
        if (event !== 'overview') return false;
        return (data as LiveEvents['overview']).functions.some(
          (one) => one.fn === fn && one.waiting.normal === 2,
        );
      }),
    );
    live.close();
    for (const view of views) {
      const table = await native(view);
      expect(table.rows.every((row) => row.length === table.columns.length)).toBe(true);
    }
    for (const route of ['jobs?state=waiting&fn=a', 'job?fn=a&id=1', 'workers', 'schedules'])
      expect([route, (await ask(base, `/api/${route}`)).status]).toEqual([route, 404]);
    for (const bad of [
      '',
      '?view=nothing',
      `?view=${views[0]}&page=a&page=b`,
      '?view=__proto__',
      `?view=${views[0]}&page=%00x`,
    ])
      expect([bad, (await ask(base, `/api/native${bad}`)).status]).toEqual([bad, 400]);
  });

  it.each(SYSTEMS)('%s shows people what they may see', async (name) => {
    const auth = () => ({ name: 'eye', view: (fn: string) => fn === 'other', act: true });
    const { base, fn, enqueue } = await serve(name, { auth });
    await enqueue();
    expect(await json(base, '/api/overview')).toEqual([]);
    const shown = { qless: 'queues', jq: 'jobs', jobd: 'rows' }[name];
    const hidden = { qless: 'tags', jq: 'workers', jobd: 'daemons' }[name];
    const table = await json<NativeView>(base, `/api/native?view=${shown}`);
    expect(table.rows).toEqual([]);
    expect(table).not.toHaveProperty('total');
    expect((await ask(base, `/api/native?view=${hidden}`)).status).toBe(403);
    const topics = encodeURIComponent(JSON.stringify([{ overview: 'default', fns: [fn] }]));
    expect((await ask(base, `/api/live?topics=${topics}`)).status).toBe(403);
  });

  it.each(SYSTEMS)('%s runs a job from the page, shows its failure, and retries its group', async (name) => {
    const redact = ({ text }: { text: string }) => text.replaceAll('p4111', '****');
    const { fn, act, native, row, runs } = await serve(name, { redact });
    const { id = '' } = await act({ action: 'run', input: JSON.stringify(FAILING[name]) });
    const { jobs, key, state, failed, ends } = JOBS[name];
    const find = async () => rowsOf(await native(jobs)).find((one) => String(one[key]) === id);
    await eventually(async () => expect(await find()).toEqual(expect.objectContaining({ [state]: ends[0] })));
    const shown = await row(jobs, id);
    expect(shown.fn).toBe(fn);
    expect(JSON.stringify(shown)).toContain('no disk ****');
    expect(JSON.stringify(shown)).not.toContain('p4111');
    expect(JSON.stringify(await native(failed))).not.toContain('p4111');

    const table = await native(failed);
    const [group] = rowsOf(table).filter((one) => one[table.functions ?? ''] === fn);
    const of = { view: failed, key: String(group?.[table.key ?? '']) };
    expect(table.actions[0]).toContain('retry');
    const other = { fn: 'other', action: 'retry', row: of };
    expect(await act(other)).toMatchObject({ changed: false, count: 0 });
    const audited: unknown[] = [];
    const note = (event: unknown) => audited.push(event);
    subscribe('gearmonkey:audit', note);
    expect(await act({ action: 'retry', row: of })).toMatchObject({ changed: true, count: 1 });
    unsubscribe('gearmonkey:audit', note);
    expect(audited).toEqual([
      expect.objectContaining({ action: 'retry', fn, count: 1, target: JSON.stringify(of) }),
    ]);
    await eventually(() => expect(runs()).toBe(2));
  });

  it.each(SYSTEMS)('%s changes nothing that the user may not, nor anything wrong', async (name) => {
    const auth = () => ({ name: 'eye', view: true, act: (action: string) => action === 'retry' });
    const { base, fn, views, native, enqueue } = await serve(name, { auth });
    await enqueue();
    for (const view of views)
      for (const may of (await native(view)).actions) expect(may).not.toContain('cancel');
    const status = async (body: object) => (await ask(base, '/api/act', { body: { fn, ...body } })).status;
    const row = { view: views[0], key: fn };
    for (const action of ['run', 'cancel', 'discard', 'pause'])
      expect([action, await status({ action, row })]).toEqual([action, 403]);
    for (const wrong of [
      ...[{}, { row: null }, { row: { view: 'none', key: fn } }, { row: { view: views[0], key: 7 } }],
      ...[{ row: { view: views[0] } }, { row: { view: views[0], key: 'x'.repeat(9999) } }],
    ])
      expect([wrong, await status({ action: 'retry', ...wrong })]).toEqual([wrong, 400]);
    for (const key of ['', '-1', '1e999', '["a"]', '{}', '../../', '\u0000'])
      for (const view of views)
        expect([
          view,
          key,
          (await ask(base, `/api/native/row?view=${view}&key=${encodeURIComponent(key)}`)).status < 500,
        ]).toEqual([...[view, key, true]]);
  });

  it.each(SYSTEMS)('%s shows and changes no other row than the one that is named', async (name) => {
    const { base, fn, views, act, row, native } = await serve(name);
    const { id = '' } = await act({ action: 'run', input: JSON.stringify(FAILING[name]) });
    const { jobs, key: column, state, ends } = JOBS[name];
    await eventually(async () =>
      expect(rowsOf(await native(jobs)).find((one) => String(one[column]) === id)?.[state]).toBe(ends[0]),
    );
    expect((await row(jobs, id)).fn).toBe(fn);
    for (const key of [
      ...[
        '',
        '.',
        '..',
        '%2e',
        '%2e%2e',
        '/',
        '?',
        '#',
        '../names',
        'null',
        '[]',
        '["x"]',
        'undefined',
        '\n',
      ],
      ...[`./${id}`, `${id}/`, `${id}?x`, `${id}#`, ` ${id}`, `${id}\0`, `0${id}`, `${id}.0`, `+${id}`],
    ]) {
      for (const view of views)
        expect([
          ...[view, key],
          (await ask(base, `/api/native/row?view=${view}&key=${encodeURIComponent(key)}`)).status,
        ]).toEqual([view, key, 404]);
      for (const wrong of [key, '\ud800'])
        expect([wrong, await act({ action: 'retry', row: { view: jobs, key: wrong } })]).toMatchObject([
          ...[wrong, { count: 0 }],
        ]);
    }
  });

  it.each(SYSTEMS)('%s does nothing to a row but what it offers: rights are for that', async (name) => {
    const { fn, views, verbs, act, native } = await serve(name);
    const { id = '' } = await act({ action: 'run', input: JSON.stringify(FAILING[name]) });
    const { jobs, key: column, state, ends } = JOBS[name];
    const find = async () => rowsOf(await native(jobs)).find((one) => String(one[column]) === id);
    await eventually(async () => expect((await find())?.[state]).toBe(ends[0]));
    for (const view of views) {
      const table = await native(view);
      const at = rowsOf(table).findIndex((row) => row[table.functions ?? ''] === fn);
      const key = String(rowsOf(table)[at]?.[table.key ?? '']);
      for (const action of verbs.filter((verb) => at >= 0 && !table.actions[at]?.includes(verb as Action)))
        if (view !== 'queues')
          expect([view, action, await act({ action, row: { view, key } })]).toMatchObject([
            ...[view, action, { count: 0 }],
          ]);
    }
    expect((await find())?.[state]).toBe(ends[0]);
  });

  it('qless pauses and resumes a queue, cancels what recurs and shows statistics', async () => {
    const { app, fn, native, row, act } = await serve('qless');
    const client = app.get(QlessClient);
    const on = (view: string, key: string, action: string) => act({ action, row: { view, key } });
    await on('queues', fn, 'pause');
    await client.queue(fn).put(fn, {});
    expect(rowOf(await native('queues'), 'queue', fn)).toMatchObject({ paused: true, waiting: 1 });
    expect(await on('queues', 'another', 'resume')).toMatchObject({ count: 0 });
    await on('queues', fn, 'resume');
    await eventually(async () =>
      expect(rowOf(await native('queues'), 'queue', fn)).toMatchObject({ running: 1 }),
    );
    expect((await row('queues', fn)).fields.map(({ name }) => name)).toContain('waited (ms)');
    const jid = await client.queue(fn).recur('klass', {}, { interval: '1h', offset: '1h' });
    expect(rowOf(await native('recurring'), 'jid', jid)).toMatchObject({ klass: 'klass', seconds: 3600 });
    expect(await on('recurring', jid, 'cancel')).toMatchObject({ count: 1 });
    expect((await native('recurring')).rows).toEqual([]);
  });

  it('qless shows a completed job, which has no queue, to those who may see all queues', async () => {
    const auth = (request: object) => {
      const { headers } = request as { headers: Record<string, string> };
      return { name: 'eye', view: headers['x-all'] === 'yes' || (() => true), act: true };
    };
    const { base, act, mend } = await serve('qless', { auth });
    mend();
    const { id = '' } = await act({ action: 'run', input: '{}' });
    const headers = { 'x-all': 'yes' };
    const rowAs = async (asked: object) =>
      rowOf(await json<NativeView>(base, '/api/native?view=tracked&page=', asked), 'jid', id);
    await eventually(async () => expect(await rowAs({ headers })).toMatchObject({ state: 'complete' }));
    expect(await rowAs({})).toBeUndefined();
    const path = `/api/native/row?view=tracked&key=${id}`;
    expect((await ask(base, path)).status).toBe(403);
    expect(await json<NativeRow>(base, path, { headers })).toMatchObject({ fn: '' });
  });

  it('JQ cancels a job that waits, and refuses an argument that is no map', async () => {
    const { app, base, fn, native, act } = await serve('jq');
    const { id } = await app.get(JqClient).enqueue('nobody', {});
    const cancel = { action: 'cancel', fn: 'nobody', row: { view: 'jobs', key: id } };
    expect(await act({ ...cancel, fn })).toMatchObject({ count: 0 });
    expect(await act(cancel)).toMatchObject({ count: 1 });
    expect(await act(cancel)).toMatchObject({ count: 0, changed: false });
    expect(rowOf(await native('jobs'), 'id', id)).toBeUndefined();
    const body = { action: 'run', fn, input: '[1]' };
    expect(await ask(base, '/api/act', { body })).toMatchObject({ status: 400 });
  });

  it('jobd runs a manual row, cancels one, and refuses other columns than those of the table', async () => {
    const { base, fn, native, act } = await serve('jobd');
    const add = async () => (await act({ action: 'run', input: '{"status":"manual"}' })).id ?? '';
    const [run, cancelled] = [await add(), await add()];
    const on = (key: string, action: string) => act({ action, row: { view: 'rows', key } });
    expect(await on(cancelled, 'cancel')).toMatchObject({ count: 1 });
    expect(await on(run, 'run')).toMatchObject({ count: 1 });
    const stateOf = async (id: string) =>
      rowsOf(await native('rows')).find((one) => String(one['id']) === id)?.['status'];
    await eventually(async () => expect(await stateOf(run)).toBe('running'));
    expect(await stateOf(cancelled)).toBe('ignored');
    expect(await on(run, 'cancel')).toMatchObject({ count: 0 });
    const neverEnded = ['running', 'accepted', 'done', 'x'].map((status) => JSON.stringify({ status }));
    const wrong = [
      '{"id":1}',
      '{"target":"other"}',
      '{"Target":"other"}',
      '[]',
      '7',
      '{"nope":5}',
      '{"sig":true}',
    ];
    for (const input of [...wrong, ...neverEnded])
      expect([input, (await ask(base, '/api/act', { body: { action: 'run', fn, input } })).status]).toEqual([
        ...[input, 400],
      ]);
    // A column that drops the space would have a row of a target that the user may have no right for.
    expect(await ask(base, '/api/act', { body: { action: 'run', fn: `${fn} ` } })).toMatchObject({
      status: 400,
    });
    const daemons = `/api/native?view=daemons&page=${encodeURIComponent("'")}`;
    expect(await ask(base, daemons)).toMatchObject({ status: 400 });
  });

  it('qless names no queue of a job before that a user may not see', async () => {
    const names = { mine: '', isAll: false };
    const auth = () => ({
      ...{ name: 'eye', act: true },
      view: names.isAll || ((queue: string) => queue === names.mine),
    });
    const { app, fn, row, native, mend } = await serve('qless', { auth });
    names.mine = fn;
    const client = app.get(QlessClient);
    const jid = String(await client.queue('payroll').put(fn, { fails: 1 }));
    const job = await client.jobs.get(jid);
    await job?.track();
    await job?.move(fn);
    const historyOf = async (view: string, key: string) => {
      const { fields } = await row(view, key);
      const field = fields.find(({ name }) => name.endsWith('history'));
      return JSON.parse(field?.text ?? '[]') as Record<string, unknown>[];
    };
    await eventually(async () => expect(rowsOf(await native('failures'))).toMatchObject([{ queue: fn }]));
    const [{ key = '' } = {}] = rowsOf(await native('failures')) as { key?: string }[];
    for (const [view, of] of [
      ['tracked', jid],
      ['failures', key],
    ] as const) {
      names.isAll = false;
      expect(JSON.stringify(await row(view, of))).not.toContain('payroll');
      const seen = await historyOf(view, of);
      expect(seen.filter(({ what }) => what === 'put').map(({ q }) => q)).toEqual([undefined, fn]);
      names.isAll = true;
      const all = await historyOf(view, of);
      expect(all.filter(({ what }) => what === 'put').map(({ q }) => q)).toEqual(['payroll', fn]);
    }
    mend();
  });

  it.each(['a b', 'odd q/ü', ' '])('qless shows and changes a queue with the name %j', async (queue) => {
    const { app, native, row, act } = await serve('qless');
    await app.get(QlessClient).queue(queue).put('klass', {});
    const on = (action: string) => act({ action, fn: queue, row: { view: 'queues', key: queue } });
    expect(await on('pause')).toMatchObject({ count: 1 });
    expect(rowOf(await native('queues'), 'queue', queue)).toMatchObject({ paused: true });
    expect((await row('queues', queue)).fn).toBe(queue);
    const { id } = await act({ action: 'run', fn: queue, kind: 'klass', input: '{}' });
    expect(await act({ action: 'cancel', fn: queue, row: { view: 'tracked', key: id } })).toMatchObject({
      count: 1,
    });
  });

  it('qless offers to a row what can be done to it now', async () => {
    const { app, fn, native, act, mend } = await serve('qless');
    const client = app.get(QlessClient);
    await client.queue(fn).pause();
    const on = (view: string, key: string, action: string) => act({ action, row: { view, key } });
    const { id = '' } = await act({ action: 'run', input: '{"fails":1}' });
    expect(actionsOf(await native('queues'), 'queue', fn)).toEqual(['resume']);
    expect(actionsOf(await native('tracked'), 'jid', id)).toEqual(['cancel']);
    await on('queues', fn, 'resume');
    expect(actionsOf(await native('queues'), 'queue', fn)).toEqual(['pause']);
    await eventually(async () =>
      expect(actionsOf(await native('tracked'), 'jid', id)).toEqual(['retry', 'cancel']),
    );
    // Other tests may have failed jobs in this database, too.
    const { actions = [] } = await native('failures');
    expect(new Set(actions.map(String))).toEqual(new Set(['retry,discard']));
    mend();
    await on('tracked', id, 'retry');
    await eventually(async () => expect(actionsOf(await native('tracked'), 'jid', id)).toEqual([]));
  });

  it('JQ offers to a row what can be done to it now', async () => {
    const { app, fn, native, act, mend, enqueue } = await serve('jq');
    const { id: waiting } = await app.get(JqClient).enqueue('apart', {});
    const { id = '' } = await act({ action: 'run', input: JSON.stringify(FAILING.jq) });
    const of = async (key: string) => actionsOf(await native('jobs'), 'id', key);
    expect(await of(waiting)).toEqual(['cancel']);
    await eventually(async () => expect(await of(id)).toEqual(['retry', 'discard']));
    expect(actionsOf(await native('names'), 'name', fn)).toEqual(['retry', 'discard']);
    expect(actionsOf(await native('names'), 'name', 'apart')).toEqual([]);
    await enqueue();
    await eventually(async () => {
      const table = await native('jobs');
      const running = rowsOf(table).findIndex(({ status }) => status === 'running');
      expect(table.actions[running]).toEqual([]);
    });
    mend();
    expect(await act({ action: 'retry', row: { view: 'jobs', key: id } })).toMatchObject({ count: 1 });
    await eventually(async () => expect(await of(id)).toEqual(['discard']));
  });

  it('jobd offers to a row what can be done to it now, and nothing else can be done', async () => {
    const { native, act, mend } = await serve('jobd');
    const add = async (columns: object) =>
      (await act({ action: 'run', input: JSON.stringify(columns) })).id ?? '';
    const of = async (id: string) => actionsOf(await native('rows'), 'id', Number(id));
    const on = (key: string, action: string) => act({ action, row: { view: 'rows', key } });
    const [manual, failed] = [await add({ status: 'manual' }), await add(FAILING.jobd)];
    expect(await of(manual)).toEqual(['run', 'cancel']);
    expect(await on(manual, 'retry')).toMatchObject({ count: 0 });
    await on(manual, 'cancel');
    expect(await of(manual)).toEqual(['retry']);
    await eventually(async () => expect(await of(failed)).toEqual(['retry']));
    for (const action of ['run', 'cancel']) expect(await on(failed, action)).toMatchObject({ count: 0 });
    mend();
    await on(failed, 'retry');
    await eventually(async () => expect(await of(failed)).toEqual([]));
    expect(await on(failed, 'retry')).toMatchObject({ count: 0 });
    await add({ status: 'manual' });
    expect((await native('targets')).actions).toEqual([[]]);
  });

  it('qless has tables of queues, tracked jobs, tags and workers', async () => {
    const { app, fn, native, enqueue } = await serve('qless');
    for (let jobs = 0; jobs < 2; jobs++) await enqueue();
    const client = app.get(QlessClient);
    const jid = await client.queue('apart').put('klass', {});
    await (await client.jobs.get(String(jid)))?.track();
    expect(rowOf(await native('tracked'), 'jid', String(jid))).toMatchObject({
      ...{ klass: 'klass', queue: 'apart', state: 'waiting', worker: null },
    });
    expect(rowOf(await native('tags'), 'tag', `<b>${fn}</b>`)).toMatchObject({ jobs: 2 });
    await eventually(async () => expect((await native('workers')).rows).toHaveLength(1));
    for (let queues = 0; queues < 60; queues++) await client.queue(`queue${queues}`).put('klass', {});
    const first = await native('queues');
    expect(first).toMatchObject({ next: '50', rows: { length: 50 } });
    expect(await pages((page) => native('queues', page))).toHaveLength(first.total ?? 0);
  });

  it('JQ has tables of workers, jobs and constraints', async () => {
    const { fn, native, enqueue } = await serve('jq');
    await master.post('/constraints', { match: [], concurrency: 3 });
    for (let jobs = 0; jobs < 60; jobs++) await enqueue();
    await eventually(async () => {
      expect((await native('workers')).rows).toHaveLength(1);
      const rows = (await pages((page) => native('jobs', page))).filter(({ name }) => name === fn);
      expect(rows).toHaveLength(60);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(60);
      expect(rows.filter(({ status }) => status === 'running')).toHaveLength(1);
    });
    const { rows } = await native('constraints');
    expect(rows).toHaveLength(1);
  });

  it('jobd has tables of targets, rows and daemons, without what processes wrote', async () => {
    const { fn, native, enqueue } = await serve('jobd');
    for (let jobs = 0; jobs < 60; jobs++) await enqueue();
    const rows = await pages((page) => native('rows', page));
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 60 }, (_, index) => 60 - index));
    expect(rows[0]).toMatchObject({ target: fn, created: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(Object.keys(rows[0] ?? {})).not.toEqual(expect.arrayContaining(['stdout']));
    await eventually(async () => {
      expect(rowOf(await native('targets'), 'target', fn)).toMatchObject({ running: 1, waiting: 59 });
    });
    expect((await native('daemons')).rows).toHaveLength(1);
  });
});

type Row = Record<string, NativeView['rows'][number][number]>;

function rowsOf({ columns, rows }: NativeView): Row[] {
  return rows.map((row) => Object.fromEntries(row.map((cell, index) => [columns[index] ?? '', cell])));
}

function actionsOf(
  table: NativeView,
  column: string,
  cell: Row[string],
): NativeView['actions'][number] | undefined {
  return table.actions[rowsOf(table).findIndex((row) => row[column] === cell)];
}

function rowOf(table: NativeView, column: string, cell: string): Row | undefined {
  return rowsOf(table).find((row) => row[column] === cell);
}

async function pages(read: (page: string) => Promise<NativeView>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page: string | undefined = ''; page !== undefined;) {
    const table: NativeView = await read(page);
    rows.push(...rowsOf(table));
    page = table.next;
  }
  return rows;
}
