import { randomUUID } from 'node:crypto';
import { COMMAND } from './spawning.mjs';

const TARGET = 'low';

/** An empty table as the original makes it, and a daemon that runs `/bin/true` for its rows; both are removed afterwards. */
export async function withDaemon({ database, concurrency }, measure) {
  const { default: mysql } = await import('mysql2/promise');
  // Without Nest, as in the program: a larger process takes longer to fork.
  const { JobdDaemon } = await import('../../../lib/jobd/daemon/jobd-daemon.js');
  const queries = await mysql.createConnection(database);
  const table = `jobs_${randomUUID().slice(0, 8)}`;
  await queries.query(ddl(table));
  const daemon = new JobdDaemon({
    ...{ database, table, launcher: `${COMMAND} {id}` },
    targets: new Map([[TARGET, { concurrency }]]),
  });
  try {
    await daemon.start();
    return await measure({ daemon, rows: new Rows(queries, table, daemon) });
  } finally {
    await daemon.stop();
    await queries.end();
  }
}

class Rows {
  constructor(queries, table, daemon) {
    this.queries = queries;
    this.table = table;
    this.daemon = daemon;
  }

  /** @returns their ids */
  async add(count, status) {
    const values = Array.from({ length: count }, () => [TARGET, 1, status]);
    const insert = `INSERT INTO ${this.table} (target, time_created, status) VALUES ?`;
    const [{ insertId }] = await this.queries.query(insert, [values]);
    return values.map((_, index) => insertId + index);
  }

  /** Resolves when the daemon has written the outcomes of this many runs. */
  runs(count) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        this.daemon.onRun(() => --count === 0 && resolve());
      })
    );
  }

  /** How many rows have succeeded. */
  async done() {
    const query = `SELECT COUNT(*) AS done FROM ${this.table} WHERE status = 'done' AND result = 'ok'`;
    const [[{ done }]] = await this.queries.query(query);
    return Number(done);
  }
}

const ddl = (table) => `CREATE TABLE ${table} (
  id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
  target char(16) NOT NULL,
  time_created int unsigned NOT NULL,
  time_started int unsigned NOT NULL DEFAULT 0,
  time_finished int unsigned NOT NULL DEFAULT 0,
  status enum('waiting','manual','accepted','running','done','ignored') NOT NULL DEFAULT 'waiting',
  result enum('ok','fail') DEFAULT NULL,
  return_code tinyint unsigned DEFAULT NULL,
  sig char(10) DEFAULT NULL,
  stdout mediumtext DEFAULT NULL,
  stderr mediumtext DEFAULT NULL,
  KEY status_target_idx (status, target, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8`;
