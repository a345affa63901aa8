import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { tablesOf } from '../../../lib/jq/http/master-acts.js';
import type { Ask } from '../../../lib/jq/http/master-tables.js';

describe('the tables of a JQ master', () => {
  /** A master of another implementation, which has one answer to everything. */
  function tablesWith(answer: object) {
    const asked: string[] = [];
    const ask: Ask = async (method, path) => {
      asked.push(`${method} ${path}`);
      return { status: 200, body: Buffer.from(encode(answer)), rest: 0 };
    };
    return { asked, tables: tablesOf(ask, () => ask('GET', '')) };
  }

  it.each(['', '\ud800'])('change nothing of a name %j', async (key) => {
    const { asked, tables } = tablesWith({ count: 5 });
    await expect(tables.act({ view: 'names', verb: 'discard', key, fn: key })).resolves.toBe(0);
    expect(asked).toEqual([]);
  });

  it.each(['', '.', '..', '\ud800'])('ask nothing for a job %j, which leads elsewhere', async (key) => {
    const { asked, tables } = tablesWith({ id: key, name: 'mail' });
    await expect(tables.open('jobs', key)).resolves.toBeUndefined();
    await expect(tables.act({ view: 'jobs', verb: 'discard', key, fn: 'mail' })).resolves.toBe(0);
    expect(asked).toEqual([]);
  });

  it.each([{ id: 'b', name: 'mail' }, { id: 'a' }, { id: 'a', name: 5 }, { jobs: [] }])(
    'have no row of an answer that is not the job: %j',
    async (answer) => {
      const { asked, tables } = tablesWith(answer);
      await expect(tables.open('jobs', 'a')).resolves.toBeUndefined();
      await expect(tables.act({ view: 'jobs', verb: 'discard', key: 'a', fn: 'mail' })).resolves.toBe(0);
      expect(new Set(asked)).toEqual(new Set(['GET /api/jobs/a']));
    },
  );
});
