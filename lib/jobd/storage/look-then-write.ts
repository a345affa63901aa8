import { CompiledQuery } from 'kysely';
import type { JobdDatabase } from './schema.js';

/** The rows that each query found. */
export type Answers = readonly (readonly unknown[])[];

/** What follows from the answers. */
export interface Decision<T> {
  readonly writes: readonly CompiledQuery[];
  readonly value: T;
}

/** The most statements in one round trip, so that they fit into the server's packet. */
const MAX_TOGETHER = 8;

/** One transaction: locking queries, then the writes that follow. One round trip per statement. */
export function lookThenWrite<T>(
  queries: JobdDatabase,
  looks: readonly CompiledQuery[],
  decide: (answers: Answers) => Decision<T>,
): Promise<T> {
  return queries.transaction().execute(async (transaction) => {
    const answers: unknown[][] = [];
    for (const look of looks) answers.push((await transaction.executeQuery(look)).rows);
    const { writes, value } = decide(answers);
    for (const write of writes) await transaction.executeQuery(write);
    return value;
  });
}

/** The same in two round trips, for servers with the trait `together`. */
export function lookThenWriteTogether<T>(
  queries: JobdDatabase,
  looks: readonly CompiledQuery[],
  decide: (answers: Answers) => Decision<T>,
): Promise<T> {
  return undoneOnFailure(queries, async (connection) => {
    const [, ...answers] = await together(connection, [BEGIN, ...looks]);
    const { writes, value } = decide(answers.map((answer) => (Array.isArray(answer) ? answer : [])));
    await together(connection, [...writes, COMMIT]);
    return value;
  });
}

/** All or nothing, in one round trip. @returns how many rows each found */
export async function writeTogether(
  queries: JobdDatabase,
  writes: readonly CompiledQuery[],
): Promise<number[]> {
  const [only, second] = writes;
  // One statement is a transaction by itself.
  if (only && !second) return [Number((await queries.executeQuery(only)).numAffectedRows)];
  return (await askTogether(queries, writes)).map(writtenRows);
}

/** All or nothing, in one round trip. @returns rows, or what the driver says of a write */
export function askTogether(
  queries: JobdDatabase,
  statements: readonly CompiledQuery[],
): Promise<readonly unknown[]> {
  return undoneOnFailure(queries, async (connection) => {
    const answers = await together(connection, [BEGIN, ...statements, COMMIT]);
    return answers.slice(1, -1);
  });
}

/** How many rows a write found, from the driver's result. */
export function writtenRows(answer: unknown): number {
  return (answer as { readonly affectedRows: number }).affectedRows;
}

const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');

function undoneOnFailure<T>(
  queries: JobdDatabase,
  action: (connection: JobdDatabase) => Promise<T>,
): Promise<T> {
  return queries.connection().execute(async (connection) => {
    try {
      return await action(connection);
    } catch (error) {
      // If the connection is broken, the server rolls back by itself, unless it has read the commit already.
      await connection.executeQuery(ROLLBACK).catch(() => undefined);
      throw error;
    }
  });
}

/** After a failure the following statements are not executed. @returns rows, or the driver's result of a write */
async function together(connection: JobdDatabase, statements: readonly CompiledQuery[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (let first = 0; first < statements.length; first += MAX_TOGETHER) {
    const some = statements.slice(first, first + MAX_TOGETHER);
    const text = some.map(({ sql }) => sql).join('; ');
    const values = some.flatMap(({ parameters }) => parameters);
    const { rows } = await connection.executeQuery(CompiledQuery.raw(text, values));
    // Kysely drops the driver's result of a single write.
    answers.push(...(some.length > 1 ? rows : [rows]));
  }
  return answers;
}
