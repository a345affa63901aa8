import { randomUUID } from 'node:crypto';
import type { CompiledQuery } from 'kysely';
import type { Database } from './database.js';
import { inChunks } from './chunks.js';
import { tombstoneOf } from './owned-updates.js';
import { idOf } from './row-statements.js';
import type { DaemonsTable, JobdDatabase, JobsTable, TableNames } from './schema.js';

/** What happens to rows that were running when their daemon died. */
export type OrphanPolicy = 'requeue' | 'fail';

export type DaemonIdentity = Omit<DaemonsTable, 'beat'>;

/** How the rows of a dead daemon were settled. */
export interface TakenOver {
  /** Released: they will run, for a second time if they had begun. */
  readonly released: number;
  /** Set to `done`, `fail`. */
  readonly failed: number;
}

const FAILED_BECAUSE =
  'The daemon that ran this job died before the job ended. Whether it did its work is unknown.';

/** The daemons that share a table, registered in the database. Methods try once. */
export class DaemonRegistry {
  private beats = 0;
  private isEntered = false;
  private readonly former: string[] = [];
  private onReborn: () => void = () => undefined;

  /** @param beating connections for beats only, so that nothing delays them */
  constructor(
    private readonly database: Database,
    private readonly names: TableNames,
    private self: DaemonIdentity,
    private readonly beating = database,
  ) {}

  get instance(): string {
    return this.self.instance;
  }

  /** `listener` is called when others took over this daemon's rows; `instance` is new then. */
  whenReborn(listener: () => void): void {
    this.onReborn = listener;
  }

  /** Shows that this daemon is alive. */
  async beat(): Promise<void> {
    this.beats++;
    const instance = await this.beating.lookThenWrite((queries) => ({
      looks: [this.entryLook(queries)],
      decide: ([found = []]) => {
        const entry = this.entry(queries, found);
        const beat = queries
          .updateTable(this.names.daemons)
          .set({ beat: this.beats })
          .where('instance', '=', this.instance);
        return { writes: [...entry, beat.compile()], value: this.instance };
      },
    }));
    this.entered(instance);
  }

  /** Finds this daemon's entry, and keeps it: until the transaction ends no daemon can declare it dead. */
  entryLook(queries: JobdDatabase): CompiledQuery {
    return queries
      .selectFrom(this.names.daemons)
      .select('instance')
      .where('instance', '=', this.instance)
      .$if(this.database.dialect !== 'sqlite', (query) => query.forUpdate())
      .compile();
  }

  /**
   * Enters this daemon where the look found nothing. It was taken for dead then, and comes back as another:
   * its writes under the former identity find no row, and its new processes are not mistaken for the old ones.
   */
  entry(queries: JobdDatabase, found: readonly unknown[]): CompiledQuery[] {
    if (found.length > 0) {
      this.isEntered = true;
      return [];
    }
    if (this.isEntered) this.rise();
    const insert = queries.insertInto(this.names.daemons).values({ ...this.self, beat: this.beats });
    // A beat and a fetch may notice it at the same time.
    if (this.database.dialect === 'mysql')
      return [insert.onDuplicateKeyUpdate({ instance: this.instance }).compile()];
    return [insert.onConflict((row) => row.column('instance').doNothing()).compile()];
  }

  /** Call this once the statements of `entry` are committed: from now on a missing entry means that others took over. */
  entered(instance: string): void {
    if (instance === this.instance) this.isEntered = true;
  }

  private rise(): void {
    this.isEntered = false;
    this.former.push(this.instance);
    this.self = { ...this.self, instance: randomUUID() };
    this.onReborn();
  }

  /**
   * Takes rows from its own former names, in case their entries were removed by something other than a daemon.
   *
   * @returns whether rows wait again
   */
  async settleFormer(policy: OrphanPolicy, now: number): Promise<boolean> {
    let hasReleased = false;
    for (const instance of [...this.former]) {
      const take = (queries: JobdDatabase) => this.takeRows(queries, instance, policy, now);
      const { released } = await this.database.transaction(take);
      this.former.shift();
      hasReleased ||= released > 0;
    }
    return hasReleased;
  }

  async others(): Promise<DaemonsTable[]> {
    const rows = await this.database.attempt((queries) =>
      queries.selectFrom(this.names.daemons).selectAll().where('instance', '!=', this.instance).execute(),
    );
    return rows.map((row) => ({ ...row, beat: Number(row.beat) }));
  }

  /** Takes a dead daemon's rows. Undefined if it has beaten again, or another daemon was faster. */
  async takeOver(dead: DaemonsTable, policy: OrphanPolicy, now: number): Promise<TakenOver | undefined> {
    return this.database.transaction(async (queries) => {
      if (!(await this.removeIfStill(queries, dead))) return undefined;
      return this.takeRows(queries, dead.instance, policy, now);
    });
  }

  private async takeRows(
    queries: JobdDatabase,
    instance: string,
    policy: OrphanPolicy,
    now: number,
  ): Promise<TakenOver> {
    const owned = await this.ownedBy(queries, instance);
    const accepted = owned.filter(({ status }) => status === 'accepted');
    const running = owned.filter(({ status }) => status === 'running');
    const released = policy === 'requeue' ? [...accepted, ...running] : accepted;
    const failed = policy === 'fail' ? running : [];
    for (const origin of ['waiting', 'manual'] as const) {
      const back = released.filter((row) => row.origin === origin);
      await this.write(queries, back.map(idOf), { status: origin });
    }
    // Otherwise output of an earlier attempt would seem to be this one's.
    const output = { return_code: null, sig: null, stdout: null, stderr: FAILED_BECAUSE };
    await this.write(queries, failed.map(idOf), {
      ...{ status: 'done', result: 'fail', time_finished: now },
      ...output,
    });
    await queries
      .deleteFrom(this.names.owners)
      .where('owner', 'in', [instance, tombstoneOf(instance)])
      .execute();
    return { released: released.length, failed: failed.length };
  }

  /** For a daemon that stops with nothing left to write. Releases rows whose acceptance was never answered. */
  async leave(): Promise<void> {
    await this.database.transaction(async (queries) => {
      await queries.deleteFrom(this.names.daemons).where('instance', '=', this.instance).execute();
      await this.takeRows(queries, this.instance, 'requeue', 0);
    });
  }

  /**
   * Takes rows of owners that are not registered: no other daemon would recover them.
   *
   * @returns whether rows wait again
   */
  async takeUnentered(policy: OrphanPolicy, now: number): Promise<boolean> {
    const { owners, daemons } = this.names;
    // In this order, because a daemon enters before it accepts a row.
    const found = await this.database.attempt((queries) =>
      queries.selectFrom(owners).select('owner').distinct().execute(),
    );
    const entered = await this.database.attempt((queries) =>
      queries.selectFrom(daemons).select('instance').execute(),
    );
    const known = new Set(entered.flatMap(({ instance }) => [instance, tombstoneOf(instance)]));
    let hasReleased = false;
    for (const { owner } of found.filter(({ owner }) => !known.has(owner))) {
      const take = (queries: JobdDatabase) => this.takeRows(queries, owner, policy, now);
      hasReleased = (await this.database.transaction(take)).released > 0 || hasReleased;
    }
    return hasReleased;
  }

  /** Returns true to one caller only. */
  private async removeIfStill(queries: JobdDatabase, { instance, beat }: DaemonsTable): Promise<boolean> {
    const { numDeletedRows } = await queries
      .deleteFrom(this.names.daemons)
      .where('instance', '=', instance)
      .where('beat', '=', beat)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  private async ownedBy(queries: JobdDatabase, owner: string) {
    const lock = this.database.dialect !== 'sqlite';
    const owned = await queries
      .selectFrom(this.names.owners)
      .select(['job_id', 'origin'])
      .where('owner', '=', owner)
      .orderBy('job_id')
      .$if(lock, (query) => query.forUpdate())
      .execute();
    const origins = new Map(owned.map((row) => [Number(row.job_id), row.origin]));
    const rows = await inChunks([...origins.keys()], (some) =>
      queries
        .selectFrom(this.names.jobs)
        .select(['id', 'status'])
        .where('id', 'in', some)
        .orderBy('id')
        .$if(lock, (query) => query.forUpdate())
        .execute(),
    );
    return rows.map(({ id, status }) => ({ id: Number(id), status, origin: origins.get(Number(id)) }));
  }

  private async write(
    queries: JobdDatabase,
    ids: readonly number[],
    columns: Partial<JobsTable>,
  ): Promise<void> {
    await inChunks(ids, (some) =>
      queries.updateTable(this.names.jobs).set(columns).where('id', 'in', some).execute(),
    );
  }
}
