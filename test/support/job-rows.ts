import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kysely, sql } from 'kysely';
import type { DaemonOptions } from '../../lib/jobd/daemon/daemon-options.js';
import { parseDatabaseUrl } from '../../lib/jobd/storage/database-location.js';
import { Database } from '../../lib/jobd/storage/database.js';
import { isContention } from '../../lib/jobd/storage/errors.js';
import { openDialect } from '../../lib/jobd/storage/dialects.js';
import { createJobsTable } from '../../lib/jobd/storage/table-setup.js';
import {
  tableNames,
  type JobdSchema,
  type JobsTable,
  type JobStatus,
} from '../../lib/jobd/storage/schema.js';
import type { JobdLog } from '../../lib/jobd/vocabulary/log.js';
import { until } from './until.js';

export const SILENT: JobdLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The table of the original's documentation. */
export const seedTable = (name: string) => `
  CREATE TABLE \`${name}\` (
    \`id\` int(10) UNSIGNED NOT NULL AUTO_INCREMENT,
    \`target\` char(16) NOT NULL,
    \`time_created\` int(10) UNSIGNED NOT NULL,
    \`time_started\` int(10) UNSIGNED NOT NULL DEFAULT 0,
    \`time_finished\` int(10) UNSIGNED NOT NULL DEFAULT 0,
    \`status\` enum('waiting','manual','accepted','running','done','ignored') NOT NULL DEFAULT 'waiting',
    \`result\` enum('ok','fail') DEFAULT NULL,
    \`return_code\` tinyint(3) UNSIGNED DEFAULT NULL,
    \`sig\` char(10) DEFAULT NULL,
    \`stdout\` mediumtext DEFAULT NULL,
    \`stderr\` mediumtext DEFAULT NULL,
    PRIMARY KEY (\`id\`),
    KEY \`status_target_idx\` (\`status\`, \`target\`, \`id\`)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8`;

/** A database server of a test, or a file in its place. */
export interface SqlServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Each look reads the whole table, on the cores that the jobs need. */
const LOOK_MS = 20;

/** A table of jobs that no other test uses, and a folder with the scripts that its jobs run. */
export class JobRows {
  private constructor(
    readonly url: string,
    readonly table: string,
    readonly folder: string,
    private readonly queries: Kysely<JobdSchema>,
  ) {}

  /** @param ddl creates the table in its own way. @default as `--init` does */
  static async create(url: string, table: string, ddl?: string): Promise<JobRows> {
    const location = parseDatabaseUrl(url);
    const { dialect } = await openDialect(location);
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-jobd-'));
    const rows = new JobRows(url, table, folder, new Kysely<JobdSchema>({ dialect }));
    if (ddl === undefined) {
      const database = await Database.open(location, SILENT);
      await createJobsTable(database, tableNames(table));
      await database.close();
    } else {
      await rows.execute(ddl);
    }
    await writeFile(join(folder, 'run'), 'exec /bin/sh "${0%/run}/$1.sh"\n');
    return rows;
  }

  /** Options of a daemon at work on the table; jobs run what `script` wrote. */
  options(targets: Record<string, number> = { low: 2 }): DaemonOptions {
    const concurrencies = Object.entries(targets).map(([name, n]) => [name, { concurrency: n }] as const);
    return {
      database: this.url,
      table: this.table,
      targets: new Map(concurrencies),
      launcher: `/bin/sh ${this.folder}/run {id}`,
      lease: 2000,
      killGrace: 1000,
    };
  }

  /** Adds a row, and the script that its job runs. */
  async add(script = 'exit 0', row: Partial<JobsTable> = {}): Promise<number> {
    const [id = 0] = await this.addMany(1, script, row);
    return id;
  }

  async addMany(count: number, script = 'exit 0', row: Partial<JobsTable> = {}): Promise<number[]> {
    const { table } = this;
    const given = { target: 'low', time_created: 1, ...row };
    const before = await this.lastId();
    const values = Array.from({ length: count }, () => given) as JobsTable[];
    const insert = () =>
      this.queries
        .insertInto(table as 'jobs')
        .values(values)
        .execute()
        .catch(unlessLocked);
    await until(insert);
    const ids = (await this.all()).map(({ id }) => id).filter((id) => id > before);
    for (const id of ids) await this.script(id, script);
    return ids;
  }

  /** What the job runs; it may tell its number as `$id` and write beside itself in `$dir`. */
  async script(id: number, text: string): Promise<void> {
    const file = join(this.folder, `${id}.sh`);
    // Under another name first: a daemon may run it already.
    await writeFile(`${file}.new`, `id=${id}; dir=${this.folder}\n${text}\n`);
    await rename(`${file}.new`, file);
  }

  /** What scripts wrote to a file; empty where they didn't. */
  content(name: string): Promise<string> {
    return readFile(join(this.folder, name), 'utf8').catch(() => '');
  }

  /** Ids that scripts wrote to `$dir/history`, in the order they did. */
  async history(): Promise<number[]> {
    const text = await readFile(join(this.folder, 'history'), 'utf8').catch(() => '');
    return text.split('\n').filter(Boolean).map(Number);
  }

  /** An empty file that scripts may wait for. */
  async put(name: string): Promise<void> {
    await writeFile(join(this.folder, name), '');
  }

  async row(id: number): Promise<JobsTable> {
    const row = (await this.all()).find((found) => found.id === id);
    if (!row) throw new Error(`There is no row ${id}.`);
    return row;
  }

  async all(): Promise<JobsTable[]> {
    const rows = await this.queries
      .selectFrom(this.table as 'jobs')
      .selectAll()
      .orderBy('id')
      .execute();
    return rows.map((row) => ({ ...row, id: Number(row.id) }));
  }

  async statuses(): Promise<JobStatus[]> {
    return (await this.all()).map(({ status }) => status);
  }

  async owners(): Promise<number[]> {
    const rows = await this.queries
      .selectFrom(`${this.table}_owners` as 'owners')
      .selectAll()
      .where('owner', 'not like', '-%')
      .execute();
    return rows.map(({ job_id }) => Number(job_id));
  }

  async execute(text: string): Promise<readonly unknown[]> {
    return until(() =>
      sql
        .raw(text)
        .execute(this.queries)
        .then(({ rows }) => rows, unlessLocked),
    );
  }

  /** Resolves when every row of these has the status. */
  async reach(status: JobStatus, ids: readonly number[], timeout = 15_000): Promise<void> {
    let last = '';
    const reached = async () => {
      const rows = (await this.all()).filter(({ id }) => ids.includes(id));
      last = countsOf(rows.map((row) => row.status));
      return rows.length === ids.length && rows.every((row) => row.status === status);
    };
    const options = { timeout, interval: LOOK_MS, message: `Not all rows became ${status}` };
    await until(reached, options).catch((error: Error) => {
      throw new Error(`${error.message}: ${last}`);
    });
  }

  async close(): Promise<void> {
    await this.queries.destroy();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async lastId(): Promise<number> {
    return (await this.all()).at(-1)?.id ?? 0;
  }
}

/** As `2 running, 313 done`: an error of many rows is to be read. */
function countsOf(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(', ');
}

/** A SQLite file that another process writes is read again. */
function unlessLocked(error: unknown): undefined {
  if (!isContention(error)) throw error;
}

/** A file in a folder of its own, which is removed with it. */
export async function sqliteFile(): Promise<SqlServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-sqlite-'));
  return {
    url: `sqlite:${join(folder, 'jobs.db')}`,
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}
