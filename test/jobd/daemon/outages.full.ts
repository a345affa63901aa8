import { afterEach, describe, expect, it } from '@jest/globals';
import { seedTable } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { eventually, until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

const HOLD = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';

describe('a daemon with an outage of its database, or with rows that others have locked', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  afterEach(() => jobs.server.restartIfDown());

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'writes how jobs ended after the database was gone by %s',
    async (signal) => {
      const rows = await jobs.table(seedTable);
      const ids = await rows.addMany(5, HOLD);
      await jobs.daemon(rows.options({ low: 2 }));
      await rows.reach('running', ids.slice(0, 2));
      await eventually(async () => expect(await rows.history()).toHaveLength(2));
      await jobs.server.kill(signal);
      await rows.put('go');
      await jobs.server.restart();
      await rows.reach('done', ids);
      expect((await rows.all()).every(({ result, stdout }) => result === 'ok' && stdout === 'end\n')).toBe(
        true,
      );
      expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
    },
  );

  it('keeps a poll that came during an outage', async () => {
    const rows = await jobs.table(seedTable);
    const daemon = await jobs.daemon(rows.options());
    const id = await rows.add();
    await jobs.server.kill();
    daemon.poll(['low']);
    await jobs.server.restart();
    await rows.reach('done', [id]);
  });

  it('polls when an outage is over, for rows that were added meanwhile', async () => {
    const rows = await jobs.table(seedTable);
    const daemon = await jobs.daemon(rows.options({ low: 1, other: 1 }));
    const id = await rows.add('', { target: 'other' });
    await jobs.server.kill();
    daemon.poll(['low']);
    await jobs.server.restart();
    await rows.reach('done', [id]);
  });

  it('refuses run-manual during an outage, and has the id free again', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add('echo out', { status: 'manual' });
    const daemon = await jobs.daemon({ ...rows.options(), manualPatience: 200 });
    await jobs.server.kill();
    await expect(daemon.runManual([id])).rejects.toMatchObject({ code: 'JOBD_DATABASE' });
    expect(daemon.status().jobPromisesCount).toBe(0);
    await jobs.server.restart();
    // On a slow machine the patience ends once more, and what was accepted too late is yet to be given back.
    const run = async () => (await daemon.runManual([id]).catch(() => undefined))?.jobs.get(id);
    expect(await until(run)).toMatchObject({ result: 'ok', stdout: 'out\n' });
  });

  it('repeats writes that were the victim of a deadlock', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add(HOLD);
    await jobs.daemon(rows.options());
    await rows.reach('running', [id]);
    const rival = await jobs.server.connect();
    await rival.query(`CREATE TABLE ${rows.table}_heavy AS SELECT seq FROM seq_1_to_5000`);
    await rival.query('BEGIN');
    // The lighter of two is the victim.
    await rival.query(`UPDATE ${rows.table}_heavy SET seq = seq + 1`);
    await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [id]);
    await rows.put('go');
    // Not from innodb_trx: it is not brought up to date while it is asked again and again.
    const waiting =
      "SELECT 1 FROM information_schema.global_status WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS' AND variable_value > 0";
    await eventually(async () => expect((await rows.execute(waiting)).length).toBeGreaterThan(0));
    await rival.query(`SELECT job_id FROM ${rows.table}_owners WHERE job_id = ? FOR UPDATE`, [id]);
    await rival.query('COMMIT');
    await rival.end();
    await rows.reach('done', [id]);
    const deadlocks =
      "SELECT 1 FROM information_schema.global_status WHERE variable_name = 'INNODB_DEADLOCKS' AND variable_value > 0";
    expect(await rows.execute(deadlocks)).toHaveLength(1);
  });

  it('begins and ends other rows while one is locked', async () => {
    const rows = await jobs.table(seedTable);
    const held = await rows.add(HOLD);
    const daemon = await jobs.daemon(rows.options({ low: 1, high: 1 }));
    await rows.reach('running', [held]);
    const rival = await jobs.server.connect();
    await rival.query('BEGIN');
    await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [held]);
    await rows.put('go');
    const others = [...(await rows.addMany(3)), ...(await rows.addMany(3, 'exit 1', { target: 'high' }))];
    daemon.poll();
    await rows.reach('done', others);
    expect(await rows.row(held)).toMatchObject({ status: 'running' });
    await rival.query('ROLLBACK');
    await rival.end();
    await rows.reach('done', [held]);
  });

  it('runs each row once even if its connections break at any moment, in commits too', async () => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(30, 'echo $id >> "$dir/history"');
    const options = { ...rows.options({ low: 3 }), fetchLimit: 5, lease: 30_000 };
    const daemons = await Promise.all([jobs.daemon(options), jobs.daemon(options)]);
    const killer = await jobs.server.connect();
    const others =
      "SELECT id FROM information_schema.processlist WHERE id != connection_id() AND user = 'root'";
    await until(
      async () => {
        const [connections] = await killer.query(others);
        for (const { id } of connections as { id: number }[])
          await killer.query(`KILL CONNECTION ${id}`).catch(() => undefined);
        return (await rows.history()).length >= ids.length;
      },
      { timeout: 25_000 },
    );
    await killer.end();
    for (const daemon of daemons) daemon.poll();
    await rows.reach('done', ids);
    expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
  });
});
