import { afterEach, describe, expect, it } from '@jest/globals';
import { JobdClient, type NewRow } from '../../../lib/jobd/index.js';
import { ClientTable } from '../../../lib/jobd/nest/client-table.js';
import { NO_ROUTE } from '../../../lib/jobd/nest/request-routes.js';
import { SILENT, sqliteFile, type JobRows } from '../../support/job-rows.js';
import { useJobTables } from '../../support/use-job-tables.js';

describe('a new row', () => {
  const jobs = useJobTables(sqliteFile);
  const opened = new Set<ClientTable>();
  afterEach(async () => {
    await Promise.all([...opened].map((table) => table.close()));
    opened.clear();
  });

  async function open(): Promise<{ rows: JobRows; client: JobdClient }> {
    const rows = await jobs.table();
    const table = new ClientTable(rows.url, rows.table, SILENT);
    opened.add(table);
    return { rows, client: new JobdClient(table, NO_ROUTE, 'key') };
  }

  const refuse = async (columns: unknown, error: object) => {
    const { rows, client } = await open();
    await expect(client.add('low', columns as NewRow)).rejects.toMatchObject({
      ...{ code: 'INVALID_OPTION', ...error },
    });
    expect(await rows.all()).toEqual([]);
  };

  it.each([null, [], 7, 'sig'])('is an object of columns, not %j', (columns) =>
    refuse(columns, { option: 'columns', expected: 'an object of columns and their values' }),
  );

  it.each(['id', 'Id', 'ID', 'rowid', '_rowid_', 'ROWID', 'oid', 'target', 'Target', 'TARGET'])(
    'has the id and target that it is given, not those of the column %s',
    (name) =>
      refuse({ [name]: 7 }, { option: 'columns', expected: expect.stringContaining(`without "${name}"`) }),
  );

  it.each([
    'Status',
    'STATUS',
    'ſtatus',
    'ßtatus',
    'státus',
    'Time_created',
    'tİmeout',
    'tımeout',
    'Timeout',
  ])('has its columns in the spelling of the table, not %s', (name) =>
    refuse({ [name]: 'x' }, { option: 'columns', expected: expect.stringContaining('status, time_created') }),
  );

  it.each(['', 'x\0', 'x\n', 'x'.repeat(65)])('has no column that no table has: %j', (name) =>
    refuse({ [name]: 1 }, { option: 'columns' }),
  );

  it.each(['sig', 'stdout', 'stderr'])('has text or null as %s', async (column) => {
    for (const value of [true, 7, 7n, [1], [], {}, { a: 1 }, Buffer.from('x'), new Date()])
      await refuse({ [column]: value }, { option: column, expected: 'text or null' });
  });

  it.each(['attempts', 'max_attempts', 'return_code'])('has a whole number or null as %s', async (column) => {
    for (const value of [true, '7', 1.5, -1, 2 ** 31, Number.NaN, Infinity, [7], {}])
      await refuse(
        { [column]: value },
        { option: column, expected: expect.stringContaining('a whole number') },
      );
  });

  it.each([true, 'abc', [], {}])('has seconds as its timeout, not %j', (timeout) =>
    refuse({ timeout }, { option: 'timeout' }),
  );

  it.each(['running', 'accepted', 'done', 'ignored', 'Waiting', null, true])(
    'is waiting or manual, not %j',
    (status) => refuse({ status }, { option: 'status' }),
  );

  it('has ok, fail or null as its result', () => refuse({ result: 'fine' }, { option: 'result' }));

  it.each(['', ' ', 'low ', ' low', 'low\t', 'low\0', 'lo\nw', 'x'.repeat(256), 7, true])(
    'has a target that no column changes, not %j',
    async (target) => {
      const { rows, client } = await open();
      await expect(client.add(target as string)).rejects.toMatchObject({
        ...{ code: 'INVALID_OPTION', option: 'target' },
      });
      expect(await rows.all()).toEqual([]);
    },
  );

  it('takes plain values for columns of the user, also true and false', async () => {
    const { rows, client } = await open();
    for (const column of ['größe', 'Urgent', 'note', 'body'])
      await rows.execute(`ALTER TABLE ${rows.table} ADD COLUMN "${column}"`);
    const own = { größe: 1.5, Urgent: true, note: null, body: Buffer.from('bytes') };
    const id = await client.add('a b', { ...own, max_attempts: 5, timeout: undefined, status: 'manual' });
    expect(await client.row(id)).toMatchObject({
      ...{ target: 'a b', max_attempts: 5, timeout: null, status: 'manual' },
      ...{ größe: 1.5, Urgent: 1, note: null, body: 'bytes' },
    });
    for (const value of [
      [1],
      {},
      new Date(),
      Infinity,
      Number.NaN,
      2n ** 63n,
      Symbol('x'),
      new Uint8Array(1),
    ])
      await expect(client.add('low', { note: value })).rejects.toMatchObject({ option: 'note' });
    expect(await rows.all()).toHaveLength(1);
  });

  it('is read, and run, by its id, a whole number', async () => {
    const { rows, client } = await open();
    const daemon = await jobs.daemon(rows.options());
    for (const id of [true, '1', 1.5, Number.NaN, [1], { id: 1 }, undefined] as unknown as number[]) {
      await expect(client.row(id)).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'ids' });
      await expect(client.runManual(id)).rejects.toMatchObject({ option: 'ids' });
      expect(() => client.rows([id])).toThrow('`ids`');
      await expect(daemon.runManual([id])).rejects.toMatchObject({ option: 'ids' });
    }
  });
});
