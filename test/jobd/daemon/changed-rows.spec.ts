import { describe, expect, it } from '@jest/globals';
import { jobd } from '../../../lib/jobd/nest/jobd.js';
import { claimOne, success } from '../../contract/claiming.js';
import { SILENT, sqliteFile, type JobRows, type SqlServer } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { furtherInFullTier } from '../../support/tier.js';
import { useJobTables } from '../../support/use-job-tables.js';

const HOLD = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';
const GONE = 'its row was changed or deleted, or another daemon has taken it over';

function warnings() {
  const lines: string[] = [];
  return { lines, log: { ...SILENT, warn: (line: string) => void lines.push(line) } };
}

const setTo = (rows: JobRows, id: number, status: string) =>
  rows.execute(`UPDATE ${rows.table} SET status = '${status}' WHERE id = ${id}`);
const remove = (rows: JobRows, id: number) => rows.execute(`DELETE FROM ${rows.table} WHERE id = ${id}`);
const last = (ids: readonly number[]): number => ids.at(-1) ?? 0;

describe.each(
  furtherInFullTier<[string, () => Promise<SqlServer>]>(
    [
      ['MariaDB', () => MariaDbServer.start()],
      ['SQLite', sqliteFile],
    ],
    [
      [
        'MariaDB that takes one statement at a time',
        () => MariaDbServer.start(['--log-bin=log', '--binlog-format=STATEMENT']),
      ],
      ['PostgreSQL', () => PostgresServer.start()],
    ],
  ),
)('rows on %s that others change or delete', (_, start) => {
  const jobs = useJobTables(start);

  it('while they are accepted: they are not run, stay as they are, and each is mentioned once', async () => {
    const rows = await jobs.table();
    const ids = await rows.addMany(6, HOLD);
    const [running = 0, done = 0, ignored = 0, waiting = 0, deleted = 0, untouched = 0] = ids;
    const { lines, log } = warnings();
    const daemon = await jobs.daemon({ ...rows.options({ low: 1 }), log });
    await rows.reach('running', [running]);
    await rows.reach('accepted', ids.slice(1));
    await setTo(rows, done, 'done');
    await setTo(rows, ignored, 'ignored');
    await setTo(rows, waiting, 'waiting');
    await remove(rows, deleted);
    await rows.put('go');
    await rows.reach('done', [untouched]);
    expect(await rows.history()).toEqual([running, untouched]);
    expect(lines).toEqual([done, ignored, waiting, deleted].map((id) => `Job ${id} is not run: ${GONE}.`));
    expect(await rows.all()).toMatchObject([
      { id: running, status: 'done', result: 'ok', attempts: 1 },
      { id: done, status: 'done', result: null, time_started: 0, attempts: 0 },
      { id: ignored, status: 'ignored', time_started: 0, attempts: 0 },
      { id: waiting, status: 'waiting', time_started: 0, attempts: 0 },
      { id: untouched, status: 'done', result: 'ok', attempts: 1 },
    ]);
    expect(await rows.owners()).toEqual([]);
    daemon.poll();
    await rows.reach('done', [waiting]);
    expect(await rows.history()).toEqual([running, untouched, waiting]);
  });

  it('while they are accepted: they are not given back when the daemon stops', async () => {
    const rows = await jobs.table();
    const ids = await rows.addMany(4, HOLD);
    const [running = 0, ignored = 0, deleted = 0, untouched = 0] = ids;
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    await rows.reach('running', [running]);
    await rows.reach('accepted', ids.slice(1));
    await setTo(rows, ignored, 'ignored');
    await remove(rows, deleted);
    daemon.pause();
    await rows.put('go');
    await daemon.stop({ timeout: 20_000 });
    expect(await rows.all()).toMatchObject([
      { id: running, status: 'done' },
      { id: ignored, status: 'ignored' },
      { id: untouched, status: 'waiting' },
    ]);
    expect(await rows.owners()).toEqual([]);
  });

  it('while they run: their ends are not written, and those of others are', async () => {
    const rows = await jobs.table();
    const ids = await rows.addMany(4, HOLD);
    const [ignored = 0, waiting = 0, deleted = 0, untouched = 0] = ids;
    const { lines, log } = warnings();
    const daemon = await jobs.daemon({ ...rows.options({ low: 4 }), log });
    await rows.reach('running', ids);
    await setTo(rows, ignored, 'ignored');
    await setTo(rows, waiting, 'waiting');
    await remove(rows, deleted);
    await rows.put('go');
    const later = await rows.add();
    daemon.poll(['low']);
    await rows.reach('done', [untouched, later]);
    await daemon.stop();
    expect(lines).toEqual(
      expect.arrayContaining([ignored, deleted].map((id) => `The end of job ${id} is not written: ${GONE}.`)),
    );
    expect(await rows.row(ignored)).toMatchObject({ status: 'ignored', result: null, stdout: null });
    expect(await rows.row(untouched)).toMatchObject({ status: 'done', result: 'ok', stdout: 'end\n' });
    expect((await rows.all()).map(({ id }) => id)).not.toContain(deleted);
    expect(await rows.owners()).toEqual([]);
  });

  it('which a client runs by hand: it is told so', async () => {
    const rows = await jobs.table();
    const [running = 0] = await rows.addMany(1, HOLD);
    const [ignored = 0, deleted = 0] = await rows.addMany(2, HOLD, { status: 'manual' });
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    await rows.reach('running', [running]);
    const asked = daemon.runManual([ignored, deleted]);
    await rows.reach('accepted', [ignored, deleted]);
    await setTo(rows, ignored, 'ignored');
    await remove(rows, deleted);
    await rows.put('go');
    expect((await asked).errors).toEqual(new Map([ignored, deleted].map((id) => [id, GONE])));
    expect(await rows.history()).toEqual([running]);
    expect(daemon.status().jobPromisesCount).toBe(0);
  });

  it('while a handler has them: the outcome is refused, and its slot takes the next row', async () => {
    const rows = await jobs.table();
    const ids = await rows.addMany(3);
    const source = jobd({ database: rows.url, table: rows.table, targets: ['low'], log: SILENT });
    await source.open(['low']);
    const [ignored, deleted, untouched] = [
      await claimOne(source, 'low'),
      await claimOne(source, 'low'),
      await claimOne(source, 'low'),
    ];
    await setTo(rows, Number(ignored.id), 'ignored');
    await remove(rows, Number(deleted.id));
    const refused = await source.settle([ignored, deleted, untouched].map((claim) => success(claim)));
    expect(refused).toEqual([ignored, deleted]);
    await rows.reach('done', [last(ids)]);
    expect(await rows.row(Number(ignored.id))).toMatchObject({ status: 'ignored', stdout: null });
    expect(await rows.owners()).toEqual([]);
    await source.close();
  });

  it('while they are accepted, by the verb `cancel`: they are not run', async () => {
    const rows = await jobs.table();
    const [running = 0, cancelled = 0] = await rows.addMany(2, HOLD);
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    await rows.reach('running', [running]);
    await rows.reach('accepted', [cancelled]);
    const source = jobd({ database: rows.url, table: rows.table, targets: ['low'], log: SILENT });
    await source.open([]);
    const request = { view: 'rows', verb: 'cancel', key: `${cancelled}`, fn: 'low' } as const;
    await expect(source.monitor?.tables?.act(request)).resolves.toBe(1);
    await source.close();
    await rows.put('go');
    const after = await rows.add(HOLD);
    daemon.poll();
    await rows.reach('done', [running, after]);
    expect(await rows.row(cancelled)).toMatchObject({ status: 'ignored', time_started: 0 });
    expect(await rows.history()).toEqual([running, after]);
  });
});
