import type { CompiledQuery } from 'kysely';
import type { Database } from './database.js';
import { inChunks } from './chunks.js';
import { formerly } from './owned-updates.js';
import type { DaemonsTable, JobdDatabase, TableNames } from './schema.js';

/** What becomes of rows that were running when their daemon died. */
export type OrphanPolicy = 'requeue' | 'fail';

export type DaemonIdentity = Omit<DaemonsTable, 'beat'>;

/** Rows that changed hands when their daemon was found dead. */
export interface TakenOver {
  /** Given back: they will run, again if they had begun. */
  readonly released: number;
  /** Set to `done`, `fail`. */
  readonly failed: number;
}

const FAILED_BECAUSE =
  'The daemon that ran this job died before the job ended. Whether it did its work is unknown.';

/** Which daemons are alive, as they tell each other through the database. Every method asks once. */
export class DaemonRegistry {
  private beats = 0;

  constructor(
    private readonly database: Database,
    private readonly names: TableNames,
    private readonly self: DaemonIdentity,
  ) {}

  get instance(): string {
    return this.self.instance;
  }

  /** Says that this daemon lives. */
  async beat(): Promise<void> {
    this.beats++;
    await this.database.lookThenWrite((queries) => ({
      looks: [this.entryLook(queries)],
      decide: ([found = []]) => {
        const beat = queries
          .updateTable(this.names.daemons)
          .set({ beat: this.beats })
          .where('instance', '=', this.instance);
        return { writes: [...this.entry(queries, found), beat.compile()], value: undefined };
      },
    }));
  }

  /** Finds this daemon's entry, and keeps it: until the transaction ends nobody can take it for dead. */
  entryLook(queries: JobdDatabase): CompiledQuery {
    return queries
      .selectFrom(this.names.daemons)
      .select('instance')
      .where('instance', '=', this.instance)
      .$if(this.database.dialect !== 'sqlite', (query) => query.forUpdate())
      .compile();
  }

  /** Enters this daemon where the look found nothing: it was taken for dead meanwhile. */
  entry(queries: JobdDatabase, found: readonly unknown[]): CompiledQuery[] {
    if (found.length > 0) return [];
    return [
      queries
        .insertInto(this.names.daemons)
        .values({ ...this.self, beat: this.beats })
        .compile(),
    ];
  }

  async others(): Promise<DaemonsTable[]> {
    const rows = await this.database.attempt((queries) =>
      queries.selectFrom(this.names.daemons).selectAll().where('instance', '!=', this.instance).execute(),
    );
    return rows.map((row) => ({ ...row, beat: Number(row.beat) }));
  }

  /** Takes a dead daemon's rows from it. Nothing happens where it has beaten again, or another was faster. */
  async takeOver(dead: DaemonsTable, policy: OrphanPolicy, now: number): Promise<TakenOver | undefined> {
    return this.database.transaction(async (queries) => {
      if (!(await this.removeIfStill(queries, dead))) return undefined;
      const owned = await this.ownedBy(queries, dead.instance);
      const accepted = owned.filter(({ status }) => status === 'accepted');
      const running = owned.filter(({ status }) => status === 'running');
      const released = policy === 'requeue' ? [...accepted, ...running] : accepted;
      const failed = policy === 'fail' ? running : [];
      for (const origin of ['waiting', 'manual'] as const) {
        const back = released.filter((row) => row.origin === origin).map(({ id }) => id);
        await this.write(queries, back, { status: origin });
      }
      const end = { status: 'done', result: 'fail', time_finished: now, stderr: FAILED_BECAUSE } as const;
      await this.write(
        queries,
        failed.map(({ id }) => id),
        end,
      );
      await queries
        .deleteFrom(this.names.owners)
        .where('owner', 'in', [dead.instance, formerly(dead.instance)])
        .execute();
      return { released: released.length, failed: failed.length };
    });
  }

  /** For a daemon that stops and holds nothing any more. */
  async leave(): Promise<void> {
    await this.database.transaction((queries) =>
      queries.deleteFrom(this.names.daemons).where('instance', '=', this.instance).execute(),
    );
  }

  /** True for one caller only. */
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
    columns: Partial<{
      status: 'waiting' | 'manual' | 'done';
      result: 'fail';
      time_finished: number;
      stderr: string;
    }>,
  ): Promise<void> {
    await inChunks(ids, (some) =>
      queries.updateTable(this.names.jobs).set(columns).where('id', 'in', some).execute(),
    );
  }
}
