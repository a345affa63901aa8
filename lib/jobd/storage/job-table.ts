import { sql } from 'kysely';
import type { AcceptedJob, Ending, RowWrites } from './accepted-job.js';
import { Acceptance, type AcceptanceParts } from './acceptance.js';
import type { Database } from './database.js';
import { inChunks } from './chunks.js';
import type { DaemonRegistry } from './daemon-registry.js';
import { GroupedWrites } from './grouped-writes.js';
import { tombstoneOf } from './owned-updates.js';
import { groupAlike, groupByAttempts } from './row-groups.js';
import { beginning, BEGUN, idOf, OPEN, updateFenced, type FencedRows } from './row-statements.js';
import { hasColumn, prepareTables, type OptionalColumn } from './table-setup.js';
import type { JobdDatabase, JobsTable, TableNames } from './schema.js';

const isFinal = ({ columns }: Ending): boolean => columns.status === 'done';

/** The table of jobs as one daemon sees it. Methods try once; times are seconds since 1970. */
export class JobTable {
  readonly acceptance: Acceptance;
  /** Ended rows whose owner entries are still to be removed. */
  private readonly tombstones = new Set<number>();

  private constructor(private readonly parts: AcceptanceParts) {
    this.acceptance = new Acceptance(parts);
  }

  /** @throws DatabaseSetupError */
  static async open(database: Database, names: TableNames, registry: DaemonRegistry): Promise<JobTable> {
    const columns = await prepareTables(database, names);
    return new JobTable({ database, names, columns, registry });
  }

  get database(): Database {
    return this.parts.database;
  }

  get columns(): ReadonlySet<OptionalColumn> {
    return this.parts.columns;
  }

  /** @throws DatabaseSetupError */
  hasColumn(name: string): Promise<boolean> {
    return hasColumn(this.database, this.parts.names, name);
  }

  /** Whether there are rows that can't be run, because their ids are too large for a number. */
  async hasUnsafeIds(): Promise<boolean> {
    const unsafe = sql<boolean>`id > ${sql.raw(String(Number.MAX_SAFE_INTEGER))}`;
    const rows = await this.database.attempt((queries) =>
      queries.selectFrom(this.parts.names.jobs).select(sql.lit(1).as('one')).where(unsafe).limit(1).execute(),
    );
    return rows.length > 0;
  }

  /** When the next row of the targets falls due; undefined if none waits for its time. */
  async nextDue(targets: readonly string[], now: number): Promise<number | undefined> {
    if (!this.columns.has('time_scheduled')) return undefined;
    const { rows } = await this.database.attempt((queries) =>
      sql<{ due: number | string | null }>`
        select min(time_scheduled) as due from ${sql.table(this.parts.names.jobs)}
        where status = 'waiting' and target in (${sql.join(targets)}) and time_scheduled > ${now}`.execute(
        queries,
      ),
    );
    const due = rows[0]?.due ?? undefined;
    return due === undefined ? undefined : Number(due);
  }

  /**
   * Marks rows as running, and writes how others ended, which have no owner afterwards: all or nothing. May be
   * repeated.
   *
   * @returns the ids of the rows written: those that this daemon owned, and that were in the state for it
   */
  async write(rows: RowWrites, now: number): Promise<Set<number>> {
    // A copy: others may take this daemon for dead meanwhile, and its name changes then.
    const { owner } = this;
    const begun = rows.begun.filter(this.isOurs);
    const ended = rows.ended.filter(this.isOurs);
    if (begun.length + ended.length === 0) return new Set();
    const ids = [...begun, ...ended].map(idOf);
    if (this.writesAtOnce && ended.every(isFinal)) {
      for (const { id } of ended) this.tombstones.add(id);
      const writes = new GroupedWrites({ begun, ended }, { ...this.parts, owner, now });
      if (await writes.run(this.database)) return new Set(ids);
    }
    return this.database.transaction(async (queries) => {
      const owned = await this.ownedIds(queries, ids, owner);
      const isOwned = ({ id }: { readonly id: number }) => owned.has(id);
      const running = new Set<number>();
      for (const [attempts, ids] of groupByAttempts(begun.filter(isOwned))) {
        const columns = beginning(attempts, now, this.columns);
        for (const id of await this.update(queries, { ids, states: OPEN }, columns)) running.add(id);
      }
      const done: number[] = [];
      for (const [columns, ids] of groupAlike(ended.filter(isOwned)))
        done.push(...(await this.update(queries, { ids, states: BEGUN }, columns)));
      // Rows that were changed or deleted have no owner afterwards, either.
      const others = [...owned].filter((id) => !running.has(id));
      await this.disown(queries, others, owner);
      const before = await this.endedBefore(queries, ended, owner);
      return new Set([...running, ...done, ...before]);
    });
  }

  /** As the function of this name. */
  endedAs(endings: readonly Ending[]): Promise<Set<number>> {
    return this.database.attempt((queries) => endedAs(queries, this.parts.names, endings));
  }

  /** Removes the owner entries that `write` has left for ended rows. */
  async sweep(): Promise<void> {
    const ids = [...this.tombstones];
    this.tombstones.clear();
    try {
      await inChunks(ids, (some) =>
        this.database.attempt((queries) =>
          queries
            .deleteFrom(this.parts.names.owners)
            .where('job_id', 'in', some)
            .where('owner', '=', tombstoneOf(this.owner))
            .execute(),
        ),
      );
    } catch (error) {
      for (const id of ids) this.tombstones.add(id);
      throw error;
    }
  }

  /** Releases rows that were not run: they are as before they were accepted, unless they were changed since. */
  async release(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    const { owner } = this;
    await this.database.transaction(async (queries) => {
      const rows = await this.ownedRows(queries, ids, owner);
      for (const origin of ['waiting', 'manual'] as const) {
        const back = rows.filter((row) => row.origin === origin).map((row) => Number(row.job_id));
        await this.update(queries, { ids: back, states: OPEN }, { status: origin });
      }
      await this.disown(queries, ids, owner);
    });
  }

  /** As the function of this name. */
  freeIds(ids: readonly number[]): Promise<Set<number>> {
    return this.database.transaction((queries) => freeIds(queries, this.parts.names, ids));
  }

  private update(
    queries: JobdDatabase,
    rows: FencedRows,
    columns: Partial<JobsTable>,
  ): Promise<readonly number[]> {
    return updateFenced(queries, this.parts, rows, columns);
  }

  /** All rows that this daemon owns, according to the database. */
  async heldIds(): Promise<number[]> {
    const rows = await this.database.attempt((queries) =>
      queries.selectFrom(this.parts.names.owners).select('job_id').where('owner', '=', this.owner).execute(),
    );
    return rows.map((row) => Number(row.job_id));
  }

  /** Whether this daemon owns a job under its present name, and not under one from before others took over its rows. */
  readonly isOurs = ({ owner }: Pick<AcceptedJob, 'owner'>): boolean => owner === this.owner;

  private get owner(): string {
    return this.parts.registry.instance;
  }

  /** Whether rows can be written without reading their owners first. */
  private get writesAtOnce(): boolean {
    return this.database.traits.together;
  }

  /** Rows that this daemon has ended already, perhaps without getting the answer. */
  private async endedBefore(
    queries: JobdDatabase,
    ended: readonly Ending[],
    owner: string,
  ): Promise<Iterable<number>> {
    if (!this.writesAtOnce) return [];
    const rows = await inChunks(ended.map(idOf), (some) =>
      queries
        .selectFrom(this.parts.names.owners)
        .select('job_id')
        .where('job_id', 'in', some)
        .where('owner', '=', tombstoneOf(owner))
        .execute(),
    );
    // An entry alone doesn't say so: it is written before its row, which may have been changed or deleted.
    const left = new Set(rows.map(({ job_id }) => Number(job_id)));
    const { names } = this.parts;
    return endedAs(
      queries,
      names,
      ended.filter(({ id }) => left.has(id)),
    );
  }

  private async ownedIds(
    queries: JobdDatabase,
    asked: readonly number[],
    owner: string,
  ): Promise<Set<number>> {
    // All daemons lock in one order.
    const rows = await this.ownedRows(
      queries,
      [...asked].sort((one, other) => one - other),
      owner,
    );
    return new Set(rows.map(({ job_id }) => Number(job_id)));
  }

  /** Locked until the transaction ends, so that no other daemon takes them over meanwhile. */
  private ownedRows(queries: JobdDatabase, ids: readonly number[], owner: string) {
    return inChunks(ids, (some) =>
      queries
        .selectFrom(this.parts.names.owners)
        .select(['job_id', 'origin'])
        .where('job_id', 'in', some)
        .where('owner', '=', owner)
        .orderBy('job_id')
        .$if(this.database.dialect !== 'sqlite', (query) => query.forUpdate())
        .execute(),
    );
  }

  private async disown(queries: JobdDatabase, ids: readonly number[], owner: string): Promise<void> {
    const { owners } = this.parts.names;
    await inChunks(ids, (some) =>
      queries.deleteFrom(owners).where('job_id', 'in', some).where('owner', '=', owner).execute(),
    );
  }
}

/** The ids of rows that have ended as these say. Those that wait again are taken to do so: they may have been begun since. */
async function endedAs(
  queries: JobdDatabase,
  { jobs }: TableNames,
  endings: readonly Ending[],
): Promise<Set<number>> {
  const rows = await inChunks(endings.map(idOf), (some) =>
    queries
      .selectFrom(jobs)
      .select(['id', 'status', 'result', 'time_finished'])
      .where('id', 'in', some)
      .execute(),
  );
  const found = new Map(rows.map((row) => [Number(row.id), row]));
  const isAs = ({ id, columns: { status, result, time_finished: finished } }: Ending) => {
    const row = found.get(id);
    if (!row || status !== 'done') return row !== undefined;
    const isSame = finished === undefined || Number(row.time_finished) === finished;
    return row.status === 'done' && row.result === result && isSame;
  };
  return new Set(endings.filter(isAs).map(idOf));
}

/**
 * Rows that are not locked, for servers that can skip locked rows. A row that is gone, or has no owner entry, counts as
 * free: the write will show that it is lost.
 */
async function freeIds(
  queries: JobdDatabase,
  { jobs, owners }: TableNames,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = (some: readonly number[]) => queries.selectFrom(jobs).select('id').where('id', 'in', some);
  const entries = (some: readonly number[]) =>
    queries.selectFrom(owners).select('job_id as id').where('job_id', 'in', some);
  const freeRows = await inChunks(ids, (some) => rows(some).forUpdate().skipLocked().execute());
  const freeEntries = await inChunks(ids, (some) => entries(some).forUpdate().skipLocked().execute());
  const lockedRows = without(await inChunks(ids, (some) => rows(some).execute()), freeRows);
  const lockedEntries = without(await inChunks(ids, (some) => entries(some).execute()), freeEntries);
  return new Set(ids.filter((id) => !lockedRows.has(id) && !lockedEntries.has(id)));
}

interface HasId {
  readonly id: number;
}

function without(all: readonly HasId[], some: readonly HasId[]): Set<number> {
  const left = new Set(all.map(idOf));
  for (const row of some) left.delete(idOf(row));
  return left;
}
