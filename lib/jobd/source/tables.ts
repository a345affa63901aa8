import { fieldsOf, type SourceRow, type SourceTables, type TableRequest } from '../../job/source-tables.js';
import type { Database } from '../storage/database.js';
import { failedIds } from '../storage/failed-rows.js';
import { readTable, timeOf, verbsOf, VIEWS } from '../storage/job-tables.js';
import type { JobsTable, JobStatus, TableNames } from '../storage/schema.js';
import { insertRow } from './insert-row.js';
import type { TableRow } from './row-input.js';

const PARTS = { stdout: 'output', stderr: 'output' } as const;

/** A row as it was before its first run; of the columns that its table has. */
const FRESH = {
  ...{ status: 'waiting', result: null, return_code: null, sig: null, stdout: null, stderr: null },
  ...{ time_started: 0, time_finished: 0, time_scheduled: 0, attempts: 0 },
} as const satisfies Partial<JobsTable>;

/** What people see of a table of jobs, and do to its rows. @param opened its database @param poll wakes handlers */
export function tablesOf(
  opened: () => Database,
  names: TableNames,
  poll: (targets: readonly string[]) => void,
): SourceTables {
  const acts = new RowActs(opened, names);
  return {
    views: VIEWS,
    verbs: ['run', 'retry', 'cancel'],
    enqueue: {
      ...{ fn: 'target', input: 'columns' },
      enqueue: async ({ fn: target, input }) => {
        const columns = (input ?? {}) as TableRow;
        const id = await insertRow(opened(), names, { target, columns });
        poll([target]);
        return String(id);
      },
    },
    read: async (view, page) => readTable(opened(), names, view, page),
    open: (view, key) => (view === 'rows' ? acts.open(key) : Promise.resolve(undefined)),
    act: async (request) => {
      const count = await acts.act(request);
      if (count > 0) poll([request.fn]);
      return count;
    },
  };
}

class RowActs {
  constructor(
    private readonly opened: () => Database,
    private readonly names: TableNames,
  ) {}

  async open(id: string): Promise<SourceRow | undefined> {
    const [row] = await this.rows([idOf(id)]);
    return row && { fn: String(row['target']), fields: fieldsOf(withTimes(row), PARTS) };
  }

  async act({ view, verb, key, fn }: TableRequest): Promise<number> {
    const ids = view === 'failed' ? await failedIds(this.opened(), this.names, key) : [idOf(key)];
    const rows = (await this.rows(ids)).filter(({ target }) => target === fn);
    let count = 0;
    for (const row of rows) count += await this.change(row, verb);
    return count;
  }

  private change(row: TableRow, verb: TableRequest['verb']): Promise<number> {
    if (!verbsOf(row as unknown as JobsTable).includes(verb)) return Promise.resolve(0);
    if (verb === 'cancel') return this.write(row, { status: 'ignored' });
    if (verb === 'run') return this.write(row, { status: 'waiting' });
    return this.write(row, Object.fromEntries(Object.entries(FRESH).filter(([column]) => column in row)));
  }

  /** Only while it has the status that it was read with. */
  private async write(row: TableRow, columns: Partial<JobsTable>): Promise<number> {
    const changed = await this.opened().attempt((queries) =>
      queries
        .updateTable(this.names.jobs)
        .set(columns)
        .where('id', '=', Number(row['id']))
        .where('status', '=', row['status'] as JobStatus)
        .executeTakeFirst(),
    );
    return Number(changed.numUpdatedRows);
  }

  private async rows(ids: readonly number[]): Promise<TableRow[]> {
    const known = ids.filter(Number.isSafeInteger);
    if (known.length === 0) return [];
    return this.opened().attempt((queries) =>
      queries.selectFrom(this.names.jobs).selectAll().where('id', 'in', known).execute(),
    ) as unknown as Promise<TableRow[]>;
  }
}

/** The id that a key stands for, in no other form than a table shows it; NaN for none. */
function idOf(key: string): number {
  return /^[1-9]\d{0,15}$/.test(key) ? Number(key) : Number.NaN;
}

/** Times are in seconds, 0 for none. */
function withTimes(row: TableRow): TableRow {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    name.startsWith('time_') && typeof value !== 'string' ? timeOf(Number(value)) : value,
  ]);
  return Object.fromEntries(entries) as TableRow;
}
