import { describe, expect, it } from '@jest/globals';
import { JqClient } from 'nestjs-gearmonkey/jq';
import { QlessClient } from 'nestjs-gearmonkey/qless';
import type { ActReply, NativeRow, NativeView } from '../../lib/dashboard/api.js';
import { eventually } from '../support/until.js';
import { ask, json } from './http.js';
import { FAILING, JOBS, SYSTEMS, useSystems, type SystemName } from './use-systems.js';

/** It is in the message of the jobs that fail, too. */
// No part of a random id, which has digits and letters up to f.
const SECRET = 'p4111';

describe('a dashboard with `redact`', () => {
  const { serve, redis } = useSystems();

  /** The input of a job that fails, with the secret wherever a client may put something. */
  const inputs: Record<SystemName, object> = {
    qless: { ...FAILING.qless, [SECRET]: SECRET },
    jq: { ...FAILING.jq, [SECRET]: SECRET },
    jobd: { sig: `fails${SECRET}` },
  };

  /** Writes the secret into the other fields of a failed job of qless, as a worker in another language may. */
  async function writeInto(jid: string): Promise<void> {
    const key = `ql:j:${jid}`;
    const failure = JSON.parse((await redis.redis.hget(key, 'failure')) ?? '') as { group: string };
    const group = `${SECRET} group`;
    await redis.redis
      .multi()
      .hset(key, { worker: `${SECRET} worker`, tags: JSON.stringify([`${SECRET} tag`]) })
      .hset(key, { failure: JSON.stringify({ ...failure, group, worker: SECRET }) })
      .lrem(`ql:f:${failure.group}`, 0, jid)
      .lpush(`ql:f:${group}`, jid)
      .sadd('ql:failures', group)
      .zadd('ql:tags', 100, `${SECRET} tag`)
      .zadd('ql:workers', Date.now() / 1000, `${SECRET} worker`)
      .exec();
  }

  it.each(SYSTEMS)('shows no secret in tables and rows of %s, and acts on them', async (name) => {
    const redact = ({ text }: { text: string }) => text.replaceAll(SECRET, '***');
    const { base, fn, views, mend, runs } = await serve(name, { redact });
    const read = async (path: string) => (await ask(base, `/api/native${path}`)).text;
    const native = async (view: string) => JSON.parse(await read(`?view=${view}&page=`)) as NativeView;
    const { jobs, key, state, failed, ends } = JOBS[name];
    const cells = ({ columns, rows }: NativeView) =>
      rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])));
    const act = (body: object) => json<ActReply>(base, '/api/act', { body: { fn, ...body } });
    const run = { action: 'run', input: JSON.stringify(inputs[name]) };
    const { id = '' } = await act(run);
    await eventually(async () => {
      const job = cells(await native(jobs)).find((one) => String(one[key]) === id);
      expect(job?.[state]).toEqual(ends[0]);
    });
    if (name === 'qless') {
      await writeInto(id);
      // No handler of the app is for it.
      await act({ ...run, kind: `${SECRET} klass` });
    }

    await eventually(async () => expect(cells(await native(failed))).not.toEqual([]));
    const texts: Record<string, string> = {};
    for (const view of views) {
      const table = await native(view);
      texts[view] = JSON.stringify(table);
      for (const row of cells(table).slice(0, table.opens ? 10 : 0)) {
        const of = `/row?view=${view}&key=${encodeURIComponent(String(row[table.key ?? '']))}`;
        texts[of] = await read(of);
      }
    }
    expect(Object.entries(texts).filter(([, text]) => text.includes(SECRET))).toEqual([]);
    expect(Object.values(texts).join()).toContain('***');

    mend();
    const table = await native(failed);
    const group = cells(table).find((one) => one[table.functions ?? ''] === fn);
    const row = { view: failed, key: String(group?.[table.key ?? '']) };
    expect(await act({ action: 'retry', row })).toMatchObject({ changed: true, count: 1 });
    await eventually(() => expect(runs()).toBe(2));
  });

  /** The texts of a row's fields, by their names. */
  async function fieldsOf(base: string, view: string, key: string): Promise<Record<string, string>> {
    const { fields } = await json<NativeRow>(
      base,
      `/api/native/row?view=${view}&key=${encodeURIComponent(key)}`,
    );
    return Object.fromEntries(fields.map(({ name, text }) => [name, text]));
  }

  /** The row with this cell, by its columns. */
  async function rowWith(base: string, view: string, cell: string): Promise<Record<string, unknown>> {
    const { columns, rows } = await json<NativeView>(base, `/api/native?view=${view}&page=`);
    const row = rows.find((cells) => cells.includes(cell));
    return Object.fromEntries(columns.map((column, at) => [column, row?.[at]]));
  }

  it.each(['qless', 'jq'] as const)('is given messages of %s before they are cut', async (name) => {
    const redact = ({ text }: { text: string }) => text.replaceAll(SECRET, '***');
    const { base, fn } = await serve(name, { redact });
    const input = JSON.stringify({ fails: `${'x'.repeat(998)}${SECRET} was refused` });
    const { id = '' } = await json<ActReply>(base, '/api/act', { body: { fn, action: 'run', input } });
    const { jobs, state, ends } = JOBS[name];
    await eventually(async () => expect((await rowWith(base, jobs, id))[state]).toBe(ends[0]));
    const shown = `${'x'.repeat(998)}**`;
    expect(Object.values(await rowWith(base, jobs, id))).toContain(shown);
    const fields = await fieldsOf(base, jobs, id);
    expect(fields['message'] ?? fields['failure']).toContain('x*** was refused');
    if (name === 'jq') expect(fields['attempts']).toContain(`"message": "${shown}"`);
    if (name === 'qless') expect((await rowWith(base, 'failures', fn))['message']).toBe(shown);
  });

  it('is given what qless has as JSON without escapes, as the input that it is', async () => {
    const parts: Record<string, string> = {};
    const redact = ({ text, part }: { text: string; part: string }) => {
      parts[text] = part;
      return text.replace(/"password":"[^"]*"/g, '"password":"***"');
    };
    const { app, base, fn } = await serve('qless', { redact });
    const data = { fails: 'it got {"password":"melon"}', password: SECRET };
    const body = { fn, action: 'run', input: JSON.stringify(data) };
    const { id = '' } = await json<ActReply>(base, '/api/act', { body });
    await eventually(async () => expect((await rowWith(base, 'tracked', id))['state']).toBe('failed'));
    const group = await fieldsOf(base, 'failures', String((await rowWith(base, 'failures', fn))['key']));
    expect(group[`${id} data`]).toContain('"password":"***"');
    expect(group[id]).toContain(JSON.stringify('it got {"password":"***"}').slice(0, -1));
    expect(group[id]).not.toContain('melon');
    expect(JSON.stringify(group)).not.toContain(SECRET);
    expect(parts[JSON.stringify(data)]).toBe('input');

    const client = app.get(QlessClient);
    const jid = String(await client.queue('apart').put('klass', {}));
    await (await client.jobs.get(jid))?.track();
    const written = String.raw`{"pass\u0077ord": "${SECRET}", "url": "https:\/\/x"}`;
    await redis.redis.hset(`ql:j:${jid}`, 'data', written);
    expect((await fieldsOf(base, 'tracked', jid))['data']).toBe('{"password":"***","url":"https://x"}');
  });

  it('is given bytes of JQ as text, and those that are no text are hidden', async () => {
    const redact = ({ text }: { text: string }) => text.replaceAll(SECRET, '***');
    const { app, base, fn } = await serve('jq', { redact });
    const odd = Buffer.from(`\xe9 ${SECRET}`, 'latin1');
    const { id } = await app.get(JqClient).enqueue(fn, { text: Buffer.from(`a ${SECRET}`), odd });
    const { argument = '' } = await fieldsOf(base, 'jobs', id);
    expect(JSON.parse(argument)).toEqual({ text: 'a ***', odd: '(hidden)' });
  });

  it('is given no output of jobd that is no text: it is hidden', async () => {
    const redact = ({ text }: { text: string }) => text.replaceAll(SECRET, '***');
    const { base, table, enqueue } = await serve('jobd', { redact });
    await enqueue();
    const hex = Buffer.from(`\xe9 ${SECRET}`, 'latin1').toString('hex');
    await table?.execute(`UPDATE ${table.table} SET stdout = x'${hex}', stderr = 'caf\\u00e9 ${SECRET}'`);
    const { stdout, stderr } = await fieldsOf(base, 'rows', '1');
    expect([stdout, stderr]).toEqual(['(hidden)', 'café ***']);
  });
});
