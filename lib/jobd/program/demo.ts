import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DaemonConfig } from '../config/daemon-config.js';
import { manualReport, targetsReport, type StatusReply } from '../jobctl/reports.js';
import { renderTable } from '../jobctl/table.js';
import { SILENT } from '../vocabulary/logging.js';
import { connect } from '../protocol/connect.js';
import type { ManualReply } from '../protocol/job-results.js';
import { Database } from '../storage/database.js';
import { initDatabase } from '../storage/init-database.js';
import { startDaemon } from './daemon-program.js';

const HOST = '127.0.0.1';
const LOOK_MS = 50;
const BACKGROUND = ['quick', 'quick', 'quick', 'quick', 'slow', 'slow'];
const MANUAL_IDS = [7, 8];

/** Runs a daemon on a new SQLite file with some jobs: shows a table, a poll and a manual run. */
export async function runDemo(print: (text: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'jobd-demo-'));
  const location = { dialect: 'sqlite', path: join(folder, 'jobs.db') } as const;
  try {
    await initDatabase(location, 'jobs', SILENT);
    const database = await Database.open(location, SILENT);
    await addRows(database);
    const program = await startDaemon(configOf(location), SILENT);
    try {
      await showRun(database, program.port, print);
    } finally {
      await program.stop();
      await database.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function configOf(database: DaemonConfig['daemon']['database']): DaemonConfig {
  return {
    host: HOST,
    port: 0,
    name: 'demo',
    auth: {},
    log: { fileLevel: 'error', consoleLevel: 'error' },
    unknown: [],
    daemon: {
      database,
      launcher: 'echo hello from job {id}',
      targets: new Map([
        ['quick', { concurrency: 4 }],
        ['slow', { concurrency: 1 }],
      ]),
    },
  };
}

async function addRows(database: Database): Promise<void> {
  const row = {
    time_created: Math.floor(Date.now() / 1000),
    time_started: 0,
    time_finished: 0,
    result: null,
    return_code: null,
    sig: null,
    stdout: null,
    stderr: null,
    time_scheduled: 0,
    attempts: 0,
    max_attempts: null,
    timeout: null,
  };
  const rows = [
    ...BACKGROUND.map((target, index) => ({ ...row, id: index + 1, target, status: 'waiting' as const })),
    ...MANUAL_IDS.map((id) => ({ ...row, id, target: 'quick', status: 'manual' as const })),
  ];
  await database.attempt((queries) => queries.insertInto('jobs').values(rows).execute());
}

async function showRun(database: Database, port: number, print: (text: string) => void): Promise<void> {
  const connection = await connect({ host: HOST, port, log: SILENT });
  try {
    print(`A daemon on ${HOST}:${port} serves two targets of an SQLite table.\n`);
    await connection.request('poll');
    print(`> poll\n`);
    await untilDone(database);
    print(await rowsOf(database));
    print(`\n> run-manual ${MANUAL_IDS.join(' ')}\n`);
    print(manualReport((await connection.request('run-manual', { ids: MANUAL_IDS })) as ManualReply).text);
    print('\n> status\n');
    print(targetsReport((await connection.request('status')) as StatusReply).text);
  } finally {
    connection.end();
  }
}

async function untilDone(database: Database): Promise<void> {
  for (;;) {
    const waiting = await database.attempt((queries) =>
      queries
        .selectFrom('jobs')
        .select('id')
        .where('status', 'in', ['waiting', 'accepted', 'running'])
        .execute(),
    );
    if (waiting.length === 0) return;
    await delay(LOOK_MS);
  }
}

async function rowsOf(database: Database): Promise<string> {
  const columns = ['id', 'target', 'status', 'result', 'return_code', 'stdout'] as const;
  const rows = await database.attempt((queries) =>
    queries.selectFrom('jobs').select(columns).orderBy('id').execute(),
  );
  return renderTable(
    columns,
    rows.map((row) => columns.map((column) => String(row[column] ?? '').trim())),
  );
}
