import { describe, expect, it } from '@jest/globals';
import { seedTable, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

/** The two tables beside a table of jobs, as the first daemons of this package created them. */
const earlierTables = (table: string) => [
  `CREATE TABLE ${table}_owners (
    job_id bigint NOT NULL PRIMARY KEY, owner char(36) NOT NULL, origin varchar(8) NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`,
  `CREATE TABLE ${table}_daemons (
    instance char(36) NOT NULL PRIMARY KEY, name varchar(190) NOT NULL, machine varchar(64) NOT NULL,
    process varchar(64) NOT NULL, beat bigint NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`,
];
const DEAD = '6a1f0f0e-0000-4000-8000-000000000001';

describe('a table that was there before', () => {
  const jobs = useJobTables(() => MariaDbServer.start());

  const lines = (rows: JobRows) => rows.execute(`SELECT * FROM ${rows.table}_owners`);

  it("is upgraded as the original's page describes it: rows of every status, without our columns", async () => {
    const rows = await jobs.table(seedTable);
    const left = await rows.add('', { status: 'accepted' });
    const manual = await rows.add('echo by hand', { status: 'manual' });
    const done = await rows.add('', { status: 'done', result: 'ok' });
    const waiting = await rows.addMany(5, 'echo $id');
    const daemon = await jobs.daemon(rows.options());
    await rows.reach('done', waiting);
    expect((await daemon.runManual([manual])).jobs.get(manual)).toMatchObject({ stdout: 'by hand\n' });
    // Whose it is only the original knows, which may still be at work on it.
    expect(await rows.row(left)).toMatchObject({ status: 'accepted' });
    expect(await rows.row(done)).toMatchObject({ status: 'done', time_started: 0 });
  });

  it.each(['fail', 'requeue'] as const)(
    'is taken as an earlier version of ours left it, with the rows of one that died: %s',
    async (orphans) => {
      const rows = await jobs.table(seedTable);
      for (const statement of earlierTables(rows.table)) await rows.execute(statement);
      const accepted = await rows.add('echo again', { status: 'accepted' });
      const manual = await rows.add('', { status: 'accepted' });
      const running = await rows.add('echo again', { status: 'running' });
      const ended = await rows.add('', { status: 'done', result: 'ok' });
      await rows.execute(`INSERT INTO ${rows.table}_daemons VALUES ('${DEAD}', 'older', '', '', 7)`);
      await rows.execute(
        `INSERT INTO ${rows.table}_owners VALUES (${accepted}, '${DEAD}', 'waiting'), (${manual}, '${DEAD}', 'manual'),
          (${running}, '${DEAD}', 'waiting'), (${ended}, '-${DEAD.slice(1)}', 'waiting')`,
      );
      await jobs.daemon({ ...rows.options(), orphans });
      await rows.reach('done', [accepted, running], 30_000);
      await rows.reach('manual', [manual]);
      expect(await rows.row(accepted)).toMatchObject({ result: 'ok', stdout: 'again\n' });
      expect(await rows.row(running)).toMatchObject({ result: orphans === 'fail' ? 'fail' : 'ok' });
      await until(async () => (await lines(rows)).length === 0);
    },
  );
});
