import { describe, expect, it } from '@jest/globals';
import type { ActReply, NativeView } from '../../lib/dashboard/api.js';
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
});
