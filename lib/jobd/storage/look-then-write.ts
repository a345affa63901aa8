import { CompiledQuery } from 'kysely';
import type { JobdDatabase } from './schema.js';

/** What each of the looks found. */
export type Answers = readonly (readonly unknown[])[];

/** What follows from the answers. */
export interface Decision<T> {
  readonly writes: readonly CompiledQuery[];
  readonly value: T;
}

/** Statements that go together in one journey; they are to fit into the server's packet. */
const MAX_TOGETHER = 8;

/** One transaction: locking looks, then the writes that they lead to. A journey for each statement. */
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

/** The same in two journeys, for servers that take several statements at once. */
export function lookThenWriteTogether<T>(
  queries: JobdDatabase,
  looks: readonly CompiledQuery[],
  decide: (answers: Answers) => Decision<T>,
): Promise<T> {
  return queries.connection().execute(async (connection) => {
    try {
      const [, ...answers] = await together(connection, [BEGIN, ...looks]);
      const { writes, value } = decide(answers);
      await together(connection, [...writes, COMMIT]);
      return value;
    } catch (error) {
      // Where the connection is broken, the server does so by itself.
      await connection.executeQuery(ROLLBACK).catch(() => undefined);
      throw error;
    }
  });
}

const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');

/** The first that fails ends it: those behind it are not executed. */
async function together(
  connection: JobdDatabase,
  statements: readonly CompiledQuery[],
): Promise<unknown[][]> {
  const answers: unknown[][] = [];
  for (let first = 0; first < statements.length; first += MAX_TOGETHER) {
    const some = statements.slice(first, first + MAX_TOGETHER);
    const text = some.map(({ sql }) => sql).join('; ');
    const { rows } = await connection.executeQuery(
      CompiledQuery.raw(
        text,
        some.flatMap(({ parameters }) => parameters),
      ),
    );
    // Of one statement alone they are its rows.
    const each = some.length > 1 ? rows : [rows];
    answers.push(...each.map((answer) => (Array.isArray(answer) ? (answer as unknown[]) : [])));
  }
  return answers;
}
