import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { connect } from '../../../lib/jobd/protocol/connect.js';
import type { Connection } from 'mysql2/promise';
import type { JobsTable } from '../../../lib/jobd/storage/schema.js';
import { CutLine } from '../../support/cut-line.js';
import { freePort } from '../../support/free-port.js';
import { seedTable, SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { eventually, until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { useCli, type CliProcess } from '../cli/cli-process.js';
import { Random } from '../../chaos/random.mjs';

interface History {
  readonly rows: JobRows;
  /** Of daemons, by a signal or by being cut off. */
  readonly kills: number;
  /** Rows that no daemon may run: their target is only similar, or the table refuses them. */
  readonly others: readonly number[];
  /** How manual rows ended, by the replies to their clients. */
  readonly told: ReadonlyMap<number, string>;
}

interface ManualReply {
  readonly jobs?: Readonly<Record<number, { readonly result: string }>>;
}

/** `table`: locked; `rows`: some that run are locked; `line`: a daemon's to the database is cut. Each for longer than a lease. */
type Victim = 'daemon' | 'master' | 'database' | 'table' | 'rows' | 'line';

/** The long form takes its victims by chance: `npm run check -- jobd-kills`. */
const LONG = Number(process.env['JOBD_KILLS'] ?? 0);
const SHORT: readonly (readonly Victim[])[] = [
  ['daemon'],
  ['master'],
  ['database'],
  ['database', 'daemon'],
  ['master', 'database', 'daemon'],
  ['table'],
  ['line'],
  ['rows', 'daemon'],
];
const KINDS: readonly Victim[] = ['daemon', 'master', 'database', 'table', 'rows', 'line'];
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
    return Array.from({ length: LONG }, () =>
      random.next() < 0.5 ? random.pick(SHORT) : KINDS.filter(() => random.next() < 0.3),
    );
  }

  async function history(orphans: 'fail' | 'requeue'): Promise<History> {
    const rows = await jobs.table(oddTable);
    const others = await addOthers(rows);
    const { user, password, database } = jobs.server;
    const masterPort = await freePort();
    const config = (port: number) =>
      [
        `mysql_host = ${HOST}\nmysql_port = ${port}\nmysql_user = ${user}\nmysql_password = "${password}"`,
        `mysql_database = ${database}\nmysql_table = ${rows.table}\nmysql_fetch_limit = 10`,
        `launcher = /bin/sh ${rows.folder}/job {id}\norphans = ${orphans}\nlease = 2`,
        `master_host = ${HOST}\nmaster_port = ${masterPort}\nmaster_reconnect_timeout = 0.1`,
        `[targets]\nlow = ${CONCURRENCY}\nhand = 1\nbad = 1\n`,
      ].join('\n');
    const startMaster = () => cli.serve('jobd-master', 'poke_throttle_interval = 0\n', masterPort);
    const lines = [await CutLine.to(jobs.server.port), await CutLine.to(jobs.server.port)];
    const startDaemon = (one: number) =>
      cli.serve('jobd', `name = d${one}\n${config(lines[one]?.port ?? 0)}`);

    await writeFile(join(rows.folder, 'job'), SCRIPT);
    let master = await startMaster();
    const daemons = await Promise.all([startDaemon(0), startDaemon(1)]);
    const ids = await rows.addMany(ROWS_A_KILL);
    const rounds = schedule();
    const manual = { status: 'manual', target: 'hand' } as const;
    const byHand = await rows.addMany((rounds.length + 1) * MANUAL_ROWS_A_KILL, '', manual);
    await until(() => poke(masterPort), PATIENCE);
    const telling = runByHand(rows, masterPort, byHand);
    let kills = 0;
    for (const [round, victims] of rounds.entries()) {
      const begun = (await rows.history()).length;
      // Jobs run when the daemons are killed.
      await eventually(
        async () => expect((await rows.history()).length).toBeGreaterThanOrEqual(begun + 8),
        PATIENCE,
      );
      const dies = (victim: Victim) => victims.includes(victim);
      const one = round % daemons.length;
      const rival = dies('table') || dies('rows') ? await jobs.server.connect() : undefined;
      rival?.on('error', () => undefined);
      if (rival && dies('rows')) await holdSome(rival, rows);
      if (rival && dies('table')) await rival.query(`LOCK TABLES ${rows.table} WRITE`);
      if (dies('line')) lines[one]?.cut();
      if (dies('table') || dies('line') || dies('rows')) await leasePasses(rows, `d${1 - one}`);
      if (dies('database')) await jobs.server.kill();
      if (dies('master')) await killed(master.program);
      if (dies('daemon')) await killed(daemons[one]?.program);
      kills += (dies('daemon') ? 1 : 0) + (dies('line') ? 1 : 0);
      rival?.destroy();
      lines[one]?.mend();
      if (dies('database')) await jobs.server.restart();
      if (dies('master')) master = await startMaster();
      if (dies('daemon')) daemons[one] = await startDaemon(one);
      await until(() => rows.all().catch(() => undefined), PATIENCE);
      ids.push(...(await rows.addMany(ROWS_A_KILL)));
      await until(() => poke(masterPort), PATIENCE);
    }
    const told = await telling;
    await rows.reach('done', [...ids, ...byHand], 30_000).catch(async (error: Error) => {
      const programs = [master, ...daemons].map(({ program }) => program.error('was at work').message);
      throw new Error([error.message, await whoHasWhat(rows, others), ...programs].join('\n'));
    });
    for (const { program } of [master, ...daemons]) await killed(program);
    lines.forEach((line) => line.close());
    return { rows, kills, told, others };
  }

  const counts = async (rows: JobRows) => {
    const runs = new Map<number, number>();
    for (const id of await rows.history()) runs.set(id, (runs.get(id) ?? 0) + 1);
    return runs;
  };
  const timeout = 180_000 + LONG * 15_000;

  it(
    'ends every row, and begins none twice',
    async () => {
      const { rows, kills, told, others } = await history('fail');
      const runs = await counts(rows);
      const all = await ownRows(rows, others);
      expect([...runs].filter(([, count]) => count > 1)).toEqual([]);
      // A row that failed for its daemon's death may have been marked as running and not begun yet.
      for (const { id, result } of all) if (result === 'ok') expect([id, runs.get(id)]).toEqual([id, 1]);
      const failed = all.filter(({ result }) => result === 'fail');
      expect(failed.every(({ stderr }) => stderr?.includes('died before the job ended'))).toBe(true);
      expect(failed.length).toBeLessThanOrEqual(kills * RUNNING_AT_MOST);
      expect((await rows.owners()).filter((id) => !others.includes(id))).toEqual([]);
      expect(told.size).toBeGreaterThan(0);
      for (const { id, result } of all) expect([id, told.get(id) ?? result]).toEqual([id, result]);
    },
    timeout,
  );

  it(
    'or begins again only what was running, where the policy says so',
    async () => {
      const { rows, kills, told, others } = await history('requeue');
      const runs = [...(await counts(rows)).values()];
      const all = await ownRows(rows, others);
      expect(all.filter(({ result }) => result !== 'ok')).toEqual([]);
      expect(new Set(told.values())).toEqual(new Set(['ok']));
      expect(runs).toHaveLength(all.length);
      expect(runs.reduce((sum, count) => sum + count - 1, 0)).toBeLessThanOrEqual(kills * RUNNING_AT_MOST);
    },
    timeout,
  );
});

/** Columns that compare without case, and whose values are padded, or text where a number is too large. */
function oddTable(name: string): string {
  return seedTable(name)
    .replace('int(10) UNSIGNED NOT NULL AUTO', 'bigint NOT NULL AUTO')
    .replace(/enum\('waiting'[^)]*\)/, 'char(10)');
}

/** Rows that are not to be run, and a trigger that refuses some of them. */
async function addOthers(rows: JobRows): Promise<number[]> {
  await rows.execute(`CREATE TRIGGER ${rows.table}_refusing BEFORE UPDATE ON ${rows.table} FOR EACH ROW
    IF NEW.target = 'bad' AND NEW.status = 'running' THEN
      SIGNAL SQLSTATE '45000' SET message_text = 'not this one'; END IF`);
  return [
    ...(await rows.addMany(3, '', { target: 'LOW' })),
    ...(await rows.addMany(3, '', { target: 'bad' })),
  ];
}

/** The others' are where they were, or about to be given back. */
async function ownRows(rows: JobRows, others: readonly number[]): Promise<JobsTable[]> {
  const all = await rows.all();
  const left = all.filter(({ id }) => others.includes(id));
  expect(left.filter(({ status }) => !['waiting', 'accepted'].includes(status))).toEqual([]);
  return all.filter(({ id }) => !others.includes(id));
}

/** For an error: rows that have not ended, and what is known of their daemons. */
async function whoHasWhat(rows: JobRows, others: readonly number[]): Promise<string> {
  const own = (await rows.all()).filter(({ id, status }) => status !== 'done' && !others.includes(id));
  const begun = await rows.history();
  const left = own.map(({ id, target, status, time_started }) => {
    return { id, target, status, time_started, runs: begun.filter((one) => one === id).length };
  });
  const tables = ['owners', 'daemons'].map((table) => rows.execute(`SELECT * FROM ${rows.table}_${table}`));
  return inspect({ left, tables: await Promise.all(tables) }, { depth: 4, maxArrayLength: 40 });
}

/** Each by itself: of several the server may lock the whole table. */
async function holdSome(rival: Connection, rows: JobRows): Promise<void> {
  const running = (await rows.all()).filter(({ status }) => status === 'running').slice(0, 3);
  await rival.query('BEGIN');
  for (const { id } of running)
    await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [id]).catch(() => undefined);
}

/** Resolves when a living daemon has beaten for two leases. */
async function leasePasses(rows: JobRows, name: string): Promise<void> {
  const beats = async () => {
    const found = await rows.execute(`SELECT beat FROM ${rows.table}_daemons WHERE name = '${name}'`);
    return Math.max(-1, ...(found as { beat: number }[]).map(({ beat }) => Number(beat)));
  };
  const before = await beats();
  await eventually(async () => expect(await beats()).toBeGreaterThanOrEqual(before + 8), {
    ...PATIENCE,
    interval: 50,
  });
}

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
