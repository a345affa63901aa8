import { toCause } from '../../job/cause.js';
import { CompiledQuery, Kysely, sql } from 'kysely';
import { retry } from '../../batching/retry.js';
import { withDeadline } from '../../job/clock.js';
import { reasonOf } from '../../job/error-info.js';
import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { DatabaseLocation } from './database-location.js';
import { ANSWER_MS, openDialect, type OpenedDialect } from './dialects.js';
import { DatabaseError, DatabaseSetupError, isContention, isRefusedStatement } from './errors.js';
import {
  askTogether,
  lookThenWrite,
  lookThenWriteTogether,
  writeTogether,
  type Answers,
  type Decision,
} from './look-then-write.js';
import type { JobdDatabase, JobdSchema } from './schema.js';

const CONTENTION_PAUSE_MS = 30;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1000;
/** For servers without a limit on statements. */
const NO_LIMIT = Infinity;

/** Differences between servers. */
export interface ServerTraits {
  /** Supports SKIP LOCKED. */
  readonly skipLocked: boolean;
  /** Bytes of the largest statement. */
  readonly maxPacket: number;
  /** Takes several statements in one round trip. */
  readonly together: boolean;
}

/** Queries, and the writes that follow from their answers, for `lookThenWrite`. */
export interface Looking<T> {
  readonly looks: readonly CompiledQuery[];
  readonly decide: (answers: Answers) => Decision<T>;
}

export interface DatabaseOptions {
  /**
   * Milliseconds after which a connection that doesn't answer is taken for dead; also how long the server waits for the
   * next statement of a transaction before it takes the client for dead.
   *
   * @default 20_000
   */
  readonly answerTimeout?: number;
  /** The most connections. @default 8 */
  readonly connections?: number;
}

/** A database that may be unreachable for a while. The caller decides whether to wait for it. */
export class Database {
  private down: { readonly problem: string } | undefined;
  /** Questions that are asked again: others may be answered meanwhile, if only some are refused. */
  private readonly unanswered = new Set<object>();
  private onBack: () => void = () => undefined;

  private constructor(
    readonly location: DatabaseLocation,
    readonly traits: ServerTraits,
    private readonly opened: OpenedDialect,
    private readonly queries: JobdDatabase,
    private readonly log: JobdLog,
    private readonly answerTimeout: number,
  ) {}

  /**
   * @throws DatabaseSetupError when the database can't be reached, or its driver isn't installed
   */
  static async open(
    location: DatabaseLocation,
    log: JobdLog,
    { answerTimeout = ANSWER_MS, connections }: DatabaseOptions = {},
  ): Promise<Database> {
    const opened = await openDialect(location, { connections, answerTimeout });
    const queries: JobdDatabase = new Kysely<JobdSchema>({ dialect: opened.dialect });
    try {
      // Opening may be slow, even if later answers must be fast.
      const patience = Math.max(answerTimeout, ANSWER_MS);
      const late = () => new Error(`no answer within ${patience} ms`);
      const traits = await withDeadline(traitsOf(location, queries), patience, late);
      return new Database(location, traits, opened, queries, log, answerTimeout);
    } catch (error) {
      opened.cut();
      await queries.destroy().catch(() => undefined);
      throw new DatabaseSetupError(`The database can't be used: ${reasonOf(error)}. Check its settings.`, {
        cause: toCause(error),
      });
    }
  }

  get dialect(): DatabaseLocation['dialect'] {
    return this.location.dialect;
  }

  /** Whether it answered when it was last asked. */
  get isReachable(): boolean {
    return !this.down;
  }

  /** Why it is not reachable. */
  get problem(): string | undefined {
    return this.down?.problem;
  }

  /** Asks it. @throws DatabaseError after `timeout` milliseconds */
  async reach(timeout: number): Promise<void> {
    const ask = () => this.attempt((queries) => sql`select 1`.execute(queries));
    await this.insist(ask, { signal: AbortSignal.timeout(timeout) });
  }

  /** `listener` is called when the database answers again after an outage. */
  whenBack(listener: () => void): void {
    this.onBack = listener;
  }

  /**
   * Asks once. The driver's errors pass through; a connection that doesn't answer is given up. The server may have
   * read and execute the query nevertheless, although its reply is lost.
   */
  async attempt<T>(question: (queries: JobdDatabase) => Promise<T>): Promise<T> {
    let lateness: DatabaseError | undefined;
    const late = () => {
      lateness = new DatabaseError('The database did not answer', `not within ${this.answerTimeout} ms`);
      this.opened.cut();
      return lateness;
    };
    const asked = this.queries.connection().execute((connection) => {
      // It was given up while it waited for a connection; its caller may have tried again by now.
      if (lateness) throw lateness;
      return question(connection);
    });
    const answer = await withDeadline(asked, this.answerTimeout, late);
    this.sayBack();
    return answer;
  }

  /** Tries once, all or nothing. */
  transaction<T>(question: (queries: JobdDatabase) => Promise<T>): Promise<T> {
    return this.attempt((queries) => queries.transaction().execute(question));
  }

  /** Queries, then writes what follows: once, all or nothing, in as few round trips as the server allows. */
  lookThenWrite<T>(prepare: (queries: JobdDatabase) => Looking<T>): Promise<T> {
    const ask = this.traits.together ? lookThenWriteTogether : lookThenWrite;
    return this.attempt((queries) => {
      const { looks, decide } = prepare(queries);
      return ask(queries, looks, decide);
    });
  }

  /**
   * Writes once, all or nothing, in one round trip: for servers with the trait `together`.
   *
   * @returns how many rows each found
   */
  writeTogether(writes: readonly CompiledQuery[]): Promise<number[]> {
    return this.attempt((queries) => writeTogether(queries, writes));
  }

  /**
   * Queries and writes once, all or nothing, in one round trip: for servers with the trait `together`.
   *
   * @returns rows, or what the driver says of a write
   */
  askTogether(statements: readonly CompiledQuery[]): Promise<readonly unknown[]> {
    return this.attempt((queries) => askTogether(queries, statements));
  }

  /**
   * Tries until there is an answer: only for what may be done twice.
   *
   * @param isFinal errors that pass through, because waiting doesn't help
   * @throws DatabaseError when `signal` aborts first
   */
  insist<T>(
    question: () => Promise<T>,
    { signal, isFinal = () => false }: { signal?: AbortSignal; isFinal?: (error: unknown) => boolean } = {},
  ): Promise<T> {
    const asked = {};
    const answer = retry(question, {
      signal,
      pause: (error, failures) => (isFinal(error) ? undefined : pauseAfter(error, failures)),
      onFailure: (error) => this.sayDown(asked, error),
      late: (error) => new DatabaseError('The database did not answer in time', error),
    }).finally(() => this.unanswered.delete(asked));
    return answer.then((value) => {
      this.sayBack();
      return value;
    });
  }

  async close(): Promise<void> {
    const ended = this.queries.destroy().catch(() => undefined);
    await withDeadline(ended, FIRST_PAUSE_MS * 10, () => new Error('late')).catch(() => this.opened.cut());
  }

  private sayBack(): void {
    if (!this.down || this.unanswered.size > 0) return;
    this.down = undefined;
    this.log.warn('The database answers again.');
    this.onBack();
  }

  private sayDown(asked: object, error: unknown): void {
    if (isContention(error)) return;
    this.unanswered.add(asked);
    if (this.down) return;
    this.down = { problem: messageOf(error) };
    this.log.error(`The database doesn't answer: ${reasonOf(error)}. It is asked again until it does.`);
  }
}

/** Milliseconds: locks are short, and an unreachable database needs longer. */
function pauseAfter(error: unknown, failures: number): number {
  if (isContention(error)) return CONTENTION_PAUSE_MS * Math.random();
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10));
}

async function traitsOf({ dialect }: DatabaseLocation, queries: JobdDatabase): Promise<ServerTraits> {
  if (dialect !== 'mysql') {
    await sql`select 1`.execute(queries);
    return { skipLocked: dialect === 'postgres', maxPacket: NO_LIMIT, together: false };
  }
  const { rows } = await sql<{ version: string; packet: number }>`
    select version() as version, @@max_allowed_packet as packet`.execute(queries);
  const { version = '', packet = NO_LIMIT } = rows[0] ?? {};
  return { skipLocked: canSkipLocked(version), maxPacket: packet, together: await takesSeveral(queries) };
}

/** A proxy in between may not. We don't with statement-based logging either: the server would call ours unsafe. */
async function takesSeveral(queries: JobdDatabase): Promise<boolean> {
  try {
    const { rows } = await queries.executeQuery(
      CompiledQuery.raw("select 1; show variables where variable_name in ('log_bin', 'binlog_format')"),
    );
    const variables = rows[1] as readonly { readonly Value: string }[];
    return !['ON', 'STATEMENT'].every((value) => variables.some(({ Value }) => Value === value));
  } catch (error) {
    if (isRefusedStatement(error)) return false;
    throw error;
  }
}

/** MySQL since 8.0.1, MariaDB since 10.6. */
export function canSkipLocked(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const [needed, since] = /mariadb/i.test(version) ? [10, 6] : [8, 0];
  return (
    major > needed || (major === needed && (minor > since || (minor === since && (since > 0 || patch > 0))))
  );
}
