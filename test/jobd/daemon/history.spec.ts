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

interface History {
  readonly rows: JobRows;
  /** Of daemons. */
  readonly kills: number;
  /** How manual rows ended, as their clients were told. */
  readonly told: ReadonlyMap<number, string>;
}

interface ManualReply {
  readonly jobs?: Readonly<Record<number, { readonly result: string }>>;
}

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
/** Rows that a table shows as running: those that run, one by hand too, and as many that have ended and are yet to be written. */
const RUNNING_AT_MOST = 2 * (CONCURRENCY + 1);
const ROWS_A_KILL = 25;
const MANUAL_ROWS_A_KILL = 10;
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

  async function history(orphans: 'fail' | 'requeue'): Promise<History> {
    const rows = await jobs.table(seedTable);
    const { port, user, password, database } = jobs.server;
    const masterPort = await freePort();
    const config = [
      `mysql_host = ${HOST}\nmysql_port = ${port}\nmysql_user = ${user}\nmysql_password = "${password}"`,
      `mysql_database = ${database}\nmysql_table = ${rows.table}\nmysql_fetch_limit = 10`,
      `launcher = /bin/sh ${rows.folder}/job {id}\norphans = ${orphans}\nlease = 2`,
      `master_host = ${HOST}\nmaster_port = ${masterPort}\nmaster_reconnect_timeout = 0.1`,
      `[targets]\nlow = ${CONCURRENCY}\nhand = 1\n`,
    ].join('\n');
    const startMaster = () => cli.serve('jobd-master', 'poke_throttle_interval = 0\n', masterPort);
    const startDaemon = () => cli.serve('jobd', config);

    await writeFile(join(rows.folder, 'job'), SCRIPT);
    let master = await startMaster();
    const daemons = await Promise.all([startDaemon(), startDaemon()]);
    const ids = await rows.addMany(ROWS_A_KILL);
    const rounds = schedule();
    const manual = { status: 'manual', target: 'hand' } as const;
    const byHand = await rows.addMany((rounds.length + 1) * MANUAL_ROWS_A_KILL, '', manual);
    await until(() => poke(masterPort), PATIENCE);
    const telling = runByHand(rows, masterPort, byHand);
    let kills = 0;
    for (const [round, victims] of rounds.entries()) {
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
    const told = await telling;
    await rows.reach('done', [...ids, ...byHand], 30_000);
    for (const { program } of [master, ...daemons]) await killed(program);
    return { rows, kills, told };
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
      const { rows, kills, told } = await history('fail');
      const runs = await counts(rows);
      const all = await rows.all();
      expect([...runs].filter(([, count]) => count > 1)).toEqual([]);
      // A row that failed for its daemon's death may have been marked as running and not begun yet.
      for (const { id, result } of all) if (result === 'ok') expect([id, runs.get(id)]).toEqual([id, 1]);
      const failed = all.filter(({ result }) => result === 'fail');
      expect(failed.every(({ stderr }) => stderr?.includes('died before the job ended'))).toBe(true);
      expect(failed.length).toBeLessThanOrEqual(kills * RUNNING_AT_MOST);
      expect(await rows.owners()).toEqual([]);
      expect(told.size).toBeGreaterThan(0);
      for (const { id, result } of all) expect([id, told.get(id) ?? result]).toEqual([id, result]);
    },
    timeout,
  );

  it(
    'or begins again only what was running, where the policy says so',
    async () => {
      const { rows, kills, told } = await history('requeue');
      const runs = [...(await counts(rows)).values()];
      expect((await rows.all()).filter(({ result }) => result !== 'ok')).toEqual([]);
      expect(new Set(told.values())).toEqual(new Set(['ok']));
      expect(runs).toHaveLength((await rows.all()).length);
      expect(runs.reduce((sum, count) => sum + count - 1, 0)).toBeLessThanOrEqual(kills * RUNNING_AT_MOST);
    },
    timeout,
  );
});

async function killed(program: CliProcess | undefined): Promise<void> {
  await program?.kill();
}

/** Asks for each until its row is done. @returns the results that clients were told */
async function runByHand(rows: JobRows, port: number, ids: readonly number[]): Promise<Map<number, string>> {
  const told = new Map<number, string>();
  for (const id of ids) {
    const isDone = async () => {
      const reply = await ask(port, 'run-manual', { jobs: [{ id, target: 'hand' }] });
      const result = (reply as ManualReply | undefined)?.jobs?.[id]?.result;
      if (result) told.set(id, result);
      const row = await rows.row(id).catch(() => undefined);
      return row?.status === 'done';
    };
    await until(isDone, PATIENCE);
  }
  return told;
}

/** False where the master isn't there. */
async function poke(port: number): Promise<boolean> {
  return (await ask(port, 'poke', { targets: ['low'] })) === 'ok';
}

/** Undefined where there is no answer. */
async function ask(port: number, request: string, data: object): Promise<unknown> {
  const connection = await connect({ host: HOST, port, log: SILENT }).catch(() => undefined);
  const reply = await connection?.request(request, data).catch(() => undefined);
  connection?.end();
  return reply;
}
