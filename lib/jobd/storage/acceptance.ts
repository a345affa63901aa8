import { sql, type SelectQueryBuilder } from 'kysely';
import type { AcceptedJob } from './accepted-job.js';
import { inChunks } from './chunks.js';
import type { DaemonRegistry } from './daemon-registry.js';
import type { Database } from './database.js';
import { idOf, updateBegun, updateRows } from './row-statements.js';
import type { JobdDatabase, JobdSchema, JobsTable, TableNames } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

export interface Fetched {
  readonly accepted: readonly AcceptedJob[];
}

export interface FetchedManual extends Fetched {
  /** Why a row isn't run, by its id. */
  readonly refused: ReadonlyMap<number, string>;
}

/** Accepted rows as the table had them, whatever columns it has. */
export interface FetchedRows extends Fetched {
  readonly rows: ReadonlyMap<number, Readonly<Record<string, unknown>>>;
}

export interface AcceptanceParts {
  readonly database: Database;
  readonly names: TableNames;
  readonly columns: ReadonlySet<OptionalColumn>;
  readonly registry: DaemonRegistry;
}

/** Which manual rows may be accepted, and which of those may begin at once. */
export interface ManualRules {
  readonly serves: (target: string) => boolean;
  readonly begins: (job: Pick<AcceptedJob, 'id' | 'target'>) => boolean;
}

type FoundRow = Pick<JobsTable, 'id' | 'target' | 'status'> & Partial<JobsTable>;
type FindRows<T> = SelectQueryBuilder<JobdSchema, 'jobs', T>;

const LIMITS = ['attempts', 'max_attempts', 'timeout'] as const;

/** How rows become this daemon's, each time in one transaction. Every method asks once; times are seconds since 1970. */
export class Acceptance {
  constructor(private readonly parts: AcceptanceParts) {}

  /** Accepts up to `limit` waiting rows of the targets, oldest first; 0 for all. */
  waiting(targets: readonly string[], limit: number, now: number): Promise<Fetched> {
    return this.parts.database.transaction(async (queries) => {
      const rows = await this.due(this.find(queries), targets, limit, now).execute();
      return { accepted: await this.accept(queries, rows, 'waiting', now) };
    });
  }

  /** Accepts and begins up to so many waiting rows of each target, oldest first. */
  begin(slots: ReadonlyMap<string, number>, now: number): Promise<FetchedRows> {
    return this.parts.database.transaction(async (queries) => {
      const found: FoundRow[] = [];
      for (const [target, free] of slots) {
        const all = queries.selectFrom(this.parts.names.jobs).selectAll();
        found.push(...(await this.due(all, [target], free, now).execute()));
      }
      const accepted = await this.accept(queries, found, 'waiting', now, () => true);
      return { accepted, rows: new Map(found.map((row) => [idOf(row), { ...row }])) };
    });
  }

  /** A row as the table has it. */
  async row(id: number): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.parts.database.attempt((queries) =>
      queries.selectFrom(this.parts.names.jobs).selectAll().where('id', '=', id).executeTakeFirst(),
    );
  }

  /** Accepts the manual ones among `ids`. A target that isn't served makes a row `ignored`; all others stay as they are. */
  manual(ids: readonly number[], { serves, begins }: ManualRules, now: number): Promise<FetchedManual> {
    const { database, names } = this.parts;
    return database.transaction(async (queries) => {
      const rows = await inChunks(ids, (some) =>
        this.locking(this.find(queries).where('id', 'in', some).orderBy('id'), false).execute(),
      );
      const manual = rows.filter(({ status }) => status === 'manual');
      const unserved = manual.filter(({ target }) => !serves(target));
      await updateRows(queries, names, unserved.map(idOf), { status: 'ignored' });
      const served = manual.filter(({ target }) => serves(target));
      const refused = rows.filter((row) => !served.includes(row));
      return {
        accepted: await this.accept(queries, served, 'manual', now, begins),
        refused: new Map(refused.map((row) => [idOf(row), whyNot(row)])),
      };
    });
  }

  private find(queries: JobdDatabase): FindRows<FoundRow> {
    const { names, columns } = this.parts;
    const limits = LIMITS.filter((column) => columns.has(column));
    return queries.selectFrom(names.jobs).select(['id', 'status', 'target', ...limits]);
  }

  private due<T>(find: FindRows<T>, targets: readonly string[], limit: number, now: number): FindRows<T> {
    const { database, columns } = this.parts;
    let query = find.where('status', '=', 'waiting').where('target', 'in', targets);
    // The column may compare without case: those rows are for others.
    if (database.dialect === 'mysql')
      query = query.where(sql`convert(target using utf8mb4) collate utf8mb4_bin`, 'in', targets);
    if (columns.has('time_scheduled')) query = query.where('time_scheduled', '<=', now);
    if (limit > 0) query = query.limit(limit);
    return this.locking(query.orderBy('id'), database.traits.skipLocked);
  }

  /** SQLite has locked the whole file by then. */
  private locking<T>(query: FindRows<T>, skipLocked: boolean): FindRows<T> {
    if (this.parts.database.dialect === 'sqlite') return query;
    return skipLocked ? query.forUpdate().skipLocked() : query.forUpdate();
  }

  private async accept(
    queries: JobdDatabase,
    rows: readonly FoundRow[],
    origin: AcceptedJob['origin'],
    now: number,
    begins: ManualRules['begins'] = () => false,
  ): Promise<AcceptedJob[]> {
    const { registry, names, columns } = this.parts;
    if (rows.length === 0) return [];
    const jobs = rows.map((row) => acceptedJob(row, origin, begins));
    await registry.ensureEntered(queries);
    const queued = jobs.filter(({ hasBegun }) => !hasBegun);
    await updateRows(queries, names, queued.map(idOf), { status: 'accepted' });
    const begun = jobs.filter(({ hasBegun }) => hasBegun);
    await updateBegun(queries, names, begun, { now, columns });
    await this.own(queries, jobs);
    return jobs;
  }

  /** There may be an owner: left over where somebody set the row back by hand. */
  private async own(queries: JobdDatabase, jobs: readonly AcceptedJob[]): Promise<void> {
    const { registry, names, database } = this.parts;
    const owner = registry.instance;
    await inChunks(jobs, async (some) => {
      const values = some.map(({ id, origin }) => ({ job_id: id, owner, origin }));
      const insert = queries.insertInto(names.owners).values(values);
      if (database.dialect === 'mysql')
        await insert.onDuplicateKeyUpdate({ owner, origin: sql`values(origin)` }).execute();
      else
        await insert
          .onConflict((row) =>
            row.column('job_id').doUpdateSet((set) => ({ owner, origin: set.ref('excluded.origin') })),
          )
          .execute();
    });
  }
}

function acceptedJob(
  row: FoundRow,
  origin: AcceptedJob['origin'],
  begins: ManualRules['begins'],
): AcceptedJob {
  const job = { id: idOf(row), target: row.target };
  return {
    ...job,
    origin,
    attempts: row.attempts ?? 0,
    ...(row.max_attempts && { maxAttempts: row.max_attempts }),
    ...(row.timeout && { timeout: row.timeout }),
    hasBegun: begins(job),
  };
}

function whyNot({ id, status, target }: FoundRow): string {
  return status === 'manual' ? `target '${target}' not found (job id=${id})` : `status = ${status} != manual`;
}
