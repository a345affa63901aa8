import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { connect } from '../../../lib/jobd/protocol/connect.js';
import { freePort } from '../../support/free-port.js';
import { seedTable, SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { useCli, type CliProcess } from '../cli/cli-process.js';
import { Random } from '../../chaos/random.mjs';

type Victim = 'daemon' | 'master' | 'database';

/** The long form takes its victims by chance: `npm run chaos:jobd`. */
const LONG = Number(process.env['JOBD_KILLS'] ?? 0);
const SHORT: readonly (readonly Victim[])[] = [
  ['daemon'],
  ['master'],
  ['database'],
  ['database', 'daemon'],
  ['master', 'database', 'daemon'],
];
const HOST = '127.0.0.1';
const CONCURRENCY = 3;
/** Rows that a table shows as running: those that run, and as many that have ended and are yet to be written. */
const RUNNING_AT_MOST = 2 * CONCURRENCY;
const ROWS_A_KILL = 25;
/** One for all rows: those that are added while daemons poll may begin at once. */
const SCRIPT = 'echo "$1" >> "${0%/job}/history"; sleep 0.05\n';
const PATIENCE = { timeout: 30_000 };

describe('a history of SIGKILLs', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  const cli = useCli();

  function schedule(): readonly (readonly Victim[])[] {
    if (LONG === 0) return SHORT;
    const seed = Number(process.env['JOBD_SEED'] ?? Date.now() % 1_000_000);
    console.log(`JOBD_SEED=${seed}`);
    const random = new Random(seed);
    return Array.from({ length: LONG }, () => random.pick(SHORT));
  }

  async function history(orphans: 'fail' | 'requeue'): Promise<{ rows: JobRows; kills: number }> {
    const rows = await jobs.table(seedTable);
    const { port, user, password, database } = jobs.server;
    const masterPort = await freePort();
    const config = [
      `mysql_host = ${HOST}\nmysql_port = ${port}\nmysql_user = ${user}\nmysql_password = "${password}"`,
      `mysql_database = ${database}\nmysql_table = ${rows.table}\nmysql_fetch_limit = 10`,
      `launcher = /bin/sh ${rows.folder}/job {id}\norphans = ${orphans}\nlease = 2`,
      `master_host = ${HOST}\nmaster_port = ${masterPort}\nmaster_reconnect_timeout = 0.1`,
      `[targets]\nlow = ${CONCURRENCY}\n`,
    ].join('\n');
    const startMaster = () => cli.serve('jobd-master', 'poke_throttle_interval = 0\n', masterPort);
    const startDaemon = () => cli.serve('jobd', config);

    await writeFile(join(rows.folder, 'job'), SCRIPT);
    let master = await startMaster();
    const daemons = await Promise.all([startDaemon(), startDaemon()]);
    const ids = await rows.addMany(ROWS_A_KILL);
    await until(() => poke(masterPort), PATIENCE);
    let kills = 0;
    for (const [round, victims] of schedule().entries()) {
      const begun = (await rows.history()).length;
      // Somebody is at work when they die.
      await until(async () => (await rows.history()).length >= begun + 8, PATIENCE);
      const dies = (victim: Victim) => victims.includes(victim);
      const one = round % daemons.length;
      if (dies('database')) await jobs.server.kill();
      if (dies('master')) await killed(master.program);
      if (dies('daemon')) await killed(daemons[one]?.program);
      kills += dies('daemon') ? 1 : 0;
      if (dies('database')) await jobs.server.restart();
      if (dies('master')) master = await startMaster();
      if (dies('daemon')) daemons[one] = await startDaemon();
      await until(() => rows.all().catch(() => undefined), PATIENCE);
      ids.push(...(await rows.addMany(ROWS_A_KILL)));
      await until(() => poke(masterPort), PATIENCE);
    }
    await rows.reach('done', ids, 30_000);
    for (const { program } of [master, ...daemons]) await killed(program);
    return { rows, kills };
  }

  const counts = async (rows: JobRows) => {
    const runs = new Map<number, number>();
    for (const id of await rows.history()) runs.set(id, (runs.get(id) ?? 0) + 1);
    return runs;
  };
  const timeout = 90_000 + LONG * 10_000;

  it(
    'ends every row, and begins none twice',
    async () => {
      const { rows, kills } = await history('fail');
      const runs = await counts(rows);
      const all = await rows.all();
      expect([...runs].filter(([, count]) => count > 1)).toEqual([]);
      // A row that failed for its daemon's death may have been marked as running and not begun yet.
      for (const { id, result } of all) if (result === 'ok') expect([id, runs.get(id)]).toEqual([id, 1]);
      const failed = all.filter(({ result }) => result === 'fail');
      expect(failed.every(({ stderr }) => stderr?.includes('died before the job ended'))).toBe(true);
      expect(failed.length).toBeLessThanOrEqual(kills * RUNNING_AT_MOST);
      expect(await rows.owners()).toEqual([]);
    },
    timeout,
  );

  it(
    'or begins again only what was running, where the policy says so',
    async () => {
      const { rows, kills } = await history('requeue');
      const runs = [...(await counts(rows)).values()];
      expect((await rows.all()).filter(({ result }) => result !== 'ok')).toEqual([]);
      expect(runs).toHaveLength((await rows.all()).length);
      expect(runs.reduce((sum, count) => sum + count - 1, 0)).toBeLessThanOrEqual(kills * RUNNING_AT_MOST);
    },
    timeout,
  );
});

async function killed(program: CliProcess | undefined): Promise<void> {
  program?.signal('SIGKILL');
  await program?.ended();
}

/** False where the master isn't there. */
async function poke(port: number): Promise<boolean> {
  const connection = await connect({ host: HOST, port, log: SILENT }).catch(() => undefined);
  const reply = await connection?.request('poke', { targets: ['low'] }).catch(() => undefined);
  connection?.end();
  return reply === 'ok';
}
