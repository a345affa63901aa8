import { sql, type CompiledQuery, type SelectQueryBuilder } from 'kysely';
import type { AcceptedJob } from './accepted-job.js';
import { chunksOf } from './chunks.js';
import type { DaemonRegistry } from './daemon-registry.js';
import type { Database } from './database.js';
import { isContention } from './errors.js';
import { writtenRows, type Decision } from './look-then-write.js';
import { beginManual } from './owned-updates.js';
import { begunUpdates, idOf, rowUpdates, EXACT_TARGET } from './row-statements.js';
import type { JobdDatabase, TableNames, JobdSchema, JobsTable } from './schema.js';
import type { OptionalColumn } from './table-setup.js';
import { defined } from '../../job/defined.js';

export interface Fetched {
  readonly accepted: readonly AcceptedJob[];
}

export interface FetchedManual extends Fetched {
  /** Why a row isn't run, by its id. */
  readonly refused: ReadonlyMap<number, string>;
}

/** Accepted rows with all columns, as they were in the table. */
export interface FetchedRows extends Fetched {
  readonly rows: ReadonlyMap<number, Readonly<Record<string, unknown>>>;
}

export interface AcceptanceParts {
  readonly database: Database;
  readonly names: TableNames;
  readonly columns: ReadonlySet<OptionalColumn>;
  readonly registry: DaemonRegistry;
}

/** Which manual rows may be accepted, and which of them may begin at once. */
export interface ManualRules {
  serves(target: string): boolean;
  begins(job: Pick<AcceptedJob, 'id' | 'target'>): boolean;
  /** The targets of which a row may begin at once, while its own target is still unknown. */
  beginsIn(id: number): readonly string[];
  /** The row began in none of them. */
  giveUp(): void;
}

const LIMITS = ['attempts', 'max_attempts', 'timeout'] as const;

/** Makes rows this daemon's, each time in one transaction. Methods try once; times are seconds since 1970. */
export class Acceptance {
  constructor(private readonly parts: AcceptanceParts) {}

  /** Accepts up to `limit` waiting rows of the targets, oldest first; 0 for all. */
  waiting(targets: readonly string[], limit: number, now: number, only?: number): Promise<Fetched> {
    return this.lookAndAccept(
      (queries) => [
        passingOver(
          this.parts.database,
          dueRows(this.parts, this.find(queries), targets, { limit, now, only }),
        ),
      ],
      (queries, found) => {
        const accepted = found.map((row) => this.job(row, 'waiting'));
        return { writes: this.accept(queries, accepted, now), value: { accepted } };
      },
    );
  }

  /** Accepts and begins up to so many waiting rows of each target, oldest first. */
  begin(slots: ReadonlyMap<string, number>, now: number, only?: number): Promise<FetchedRows> {
    return this.lookAndAccept(
      (queries) => {
        const all = queries.selectFrom(this.parts.names.jobs).selectAll();
        return [...slots].map(([target, limit]) =>
          passingOver(this.parts.database, dueRows(this.parts, all, [target], { limit, now, only })),
        );
      },
      (queries, found) => {
        const accepted = found.map((row) => this.job(row, 'waiting', () => true));
        const rows = new Map(found.map((row) => [idOf(row), { ...row }]));
        return { writes: this.accept(queries, accepted, now), value: { accepted, rows } };
      },
    );
  }

  /** Waiting rows of the targets, oldest first, to be accepted one by one when the table refuses one of them. */
  async dueRows(
    targets: readonly string[],
    limit: number,
    now: number,
  ): Promise<Pick<AcceptedJob, 'id' | 'target'>[]> {
    const { database, names } = this.parts;
    const rows = await database.attempt((queries) =>
      dueRows(this.parts, queries.selectFrom(names.jobs).select(['id', 'target']), targets, {
        ...{ limit, now },
      }).execute(),
    );
    return rows.map((row) => ({ id: idOf(row), target: row.target }));
  }

  /** A row as the table has it. */
  async row(id: number): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.parts.database.attempt((queries) =>
      queries.selectFrom(this.parts.names.jobs).selectAll().where('id', '=', id).executeTakeFirst(),
    );
  }

  /** Accepts the manual rows among `ids`. Those of a target that isn't served become `ignored`; other rows don't change. */
  async manual(ids: readonly number[], rules: ManualRules, now: number): Promise<FetchedManual> {
    const begun = await this.beginManual(ids, rules, now);
    return begun ? { accepted: [begun], refused: new Map() } : this.lookAtManual(ids, rules, now);
  }

  /** Begins a single row in one round trip. Undefined if that isn't possible; nothing has changed then. */
  private async beginManual(
    [id, ...others]: readonly number[],
    rules: ManualRules,
    now: number,
  ): Promise<AcceptedJob | undefined> {
    const { together, skipLocked } = this.parts.database.traits;
    if (id === undefined || others.length > 0 || !together || !skipLocked) return undefined;
    const targets = rules.beginsIn(id);
    if (targets.length === 0) return undefined;
    let begun: AcceptedJob | undefined;
    try {
      begun = await this.beginOneOf(targets, id, now);
    } catch (error) {
      // Another has locked the row. The slower way waits for it, without holding a slot.
      if (!isContention(error)) throw error;
    } finally {
      if (!begun) rules.giveUp();
    }
    return begun;
  }

  private async beginOneOf(
    targets: readonly string[],
    id: number,
    now: number,
  ): Promise<AcceptedJob | undefined> {
    const { database, names, columns, registry } = this.parts;
    const owner = registry.instance;
    const beginning = beginManual(names, owner, { id, targets, now, columns });
    const [found, , begun] = await database.askTogether(beginning);
    const [row] = found as readonly FoundRow[];
    return row && writtenRows(begun) > 0 ? acceptedJob(row, 'manual', owner, () => true) : undefined;
  }

  private lookAtManual(ids: readonly number[], rules: ManualRules, now: number): Promise<FetchedManual> {
    return this.lookAndAccept(
      (queries) => {
        const find = this.find(queries).orderBy('id');
        return chunksOf(ids).map((some) => ifFree(this.parts.database, find.where('id', 'in', some)));
      },
      (queries, found) => {
        const manual = found.filter(({ status }) => status === 'manual');
        const unserved = manual.filter(({ target }) => !rules.serves(target));
        const served = manual.filter(({ target }) => rules.serves(target));
        const accepted = served.map((row) => this.job(row, 'manual', (job) => rules.begins(job)));
        const refused = found.filter((row) => !served.includes(row));
        const ignores = rowUpdates(queries, this.parts.names, unserved.map(idOf), { status: 'ignored' });
        return {
          writes: [...ignores, ...this.accept(queries, accepted, now)],
          value: { accepted, refused: new Map(refused.map((row) => [idOf(row), whyNot(row)])) },
        };
      },
    );
  }

  /** While rows are being accepted, no daemon can declare this one dead. */
  private async lookAndAccept<T>(
    looks: (queries: JobdDatabase) => readonly FindRows<FoundRow>[],
    decide: (queries: JobdDatabase, found: readonly FoundRow[]) => Decision<T>,
  ): Promise<T> {
    const { database, registry } = this.parts;
    let owner = '';
    const value = await database.lookThenWrite((queries) => ({
      looks: [...looks(queries).map((look) => look.compile()), registry.entryLook(queries)],
      decide: (answers) => {
        // First, because it decides who will own the rows.
        const entry = registry.entry(queries, answers.at(-1) ?? []);
        const decision = decide(queries, answers.slice(0, -1).flat() as FoundRow[]);
        if (decision.writes.length === 0) return decision;
        owner = registry.instance;
        return { ...decision, writes: [...entry, ...decision.writes] };
      },
    }));
    registry.entered(owner);
    return value;
  }

  private job(row: FoundRow, origin: AcceptedJob['origin'], begins?: Begins): AcceptedJob {
    return acceptedJob(row, origin, this.parts.registry.instance, begins);
  }

  private find(queries: JobdDatabase): FindRows<FoundRow> {
    const { names, columns } = this.parts;
    const limits = LIMITS.filter((column) => columns.has(column));
    return queries.selectFrom(names.jobs).select(['id', 'status', 'target', ...limits]);
  }

  private accept(queries: JobdDatabase, jobs: readonly AcceptedJob[], now: number): CompiledQuery[] {
    const { names, columns } = this.parts;
    const queued = jobs.filter(({ hasBegun }) => !hasBegun);
    const begun = jobs.filter(({ hasBegun }) => hasBegun);
    return [
      ...rowUpdates(queries, names, queued.map(idOf), { status: 'accepted' }),
      ...begunUpdates(queries, names, begun, { now, columns }),
      ...chunksOf(jobs).map((some) => this.own(queries, some)),
    ];
  }

  /** An owner may be left over from a row that was reset by hand. */
  private own(queries: JobdDatabase, jobs: readonly AcceptedJob[]): CompiledQuery {
    const { registry, names, database } = this.parts;
    const owner = registry.instance;
    const values = jobs.map(({ id, origin }) => ({ job_id: id, owner, origin }));
    const insert = queries.insertInto(names.owners).values(values);
    if (database.dialect === 'mysql')
      return insert.onDuplicateKeyUpdate({ owner, origin: sql`values(origin)` }).compile();
    return insert
      .onConflict((row) =>
        row.column('job_id').doUpdateSet((set) => ({ owner, origin: set.ref('excluded.origin') })),
      )
      .compile();
  }
}

type FindRows<T> = SelectQueryBuilder<JobdSchema, 'jobs', T>;

/** Which due rows: up to `limit`, 0 for all; `now` is in seconds since 1970. */
interface Due {
  readonly limit: number;
  readonly now: number;
  readonly only?: number | undefined;
}

interface Where {
  readonly database: Database;
  readonly columns: ReadonlySet<OptionalColumn>;
}

/** A number can't hold larger ids: another row would be written. */
const SAFE_ID = sql<boolean>`id <= ${sql.raw(String(Number.MAX_SAFE_INTEGER))}`;

/** Waiting rows of the targets, oldest first. */
function dueRows<T>(
  { database, columns }: Where,
  find: FindRows<T>,
  targets: readonly string[],
  { limit, now, only }: Due,
): FindRows<T> {
  let query = find.where('status', '=', 'waiting').where('target', 'in', targets);
  query = query.where(sql.raw(EXACT_TARGET[database.dialect]), 'in', targets).where(SAFE_ID);
  if (columns.has('time_scheduled'))
    query = query.where((row) =>
      row.or([row('time_scheduled', '<=', now), row('time_scheduled', 'is', null)]),
    );
  if (only !== undefined) query = query.where('id', '=', only);
  if (limit > 0) query = query.limit(limit);
  return query.orderBy('id');
}

/** Locks rows, skipping locked ones if the server can. SQLite has locked the whole file already. */
function passingOver<T>({ dialect, traits }: Database, query: FindRows<T>): FindRows<T> {
  if (dialect === 'sqlite') return query;
  return traits.skipLocked ? query.forUpdate().skipLocked() : query.forUpdate();
}

/** Locks rows, or fails at once if one is locked: waiting for it would delay all other fetches. */
function ifFree<T>({ dialect, traits }: Database, query: FindRows<T>): FindRows<T> {
  if (dialect === 'sqlite') return query;
  return traits.skipLocked ? query.forUpdate().noWait() : query.forUpdate();
}

/** A row as it was read. */
type FoundRow = Pick<JobsTable, 'id' | 'target' | 'status'> & Partial<JobsTable>;

/** Whether a row begins at once. */
type Begins = (job: Pick<AcceptedJob, 'id' | 'target'>) => boolean;

/** Values that make no sense, such as a negative time, are ignored. */
function acceptedJob(
  row: FoundRow,
  origin: AcceptedJob['origin'],
  owner: string,
  begins: Begins = () => false,
): AcceptedJob {
  const job = { id: idOf(row), target: row.target };
  return defined({
    ...job,
    owner,
    origin,
    attempts: Number(row.attempts ?? 0),
    maxAttempts: Number(row.max_attempts) > 0 ? Number(row.max_attempts) : undefined,
    timeout: Number(row.timeout) > 0 ? Number(row.timeout) : undefined,
    hasBegun: begins(job),
  });
}

/** Why a row isn't run by hand. */
function whyNot({ id, status, target }: FoundRow): string {
  return status === 'manual' ? `target '${target}' not found (job id=${id})` : `status = ${status} != manual`;
}
