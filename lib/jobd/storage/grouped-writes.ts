import type { CompiledQuery } from 'kysely';
import type { RowWrites } from './accepted-job.js';
import type { Database } from './database.js';
import { updateDisowned, updateKept } from './owned-updates.js';
import { groupAlike, groupByAttempts } from './row-groups.js';
import { beginning } from './row-statements.js';
import type { TableNames } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

/** Rows with the same changes. The last statement's count shows how many were found. */
interface Group {
  readonly ids: readonly number[];
  readonly writes: readonly CompiledQuery[];
}

export interface WrittenAs {
  readonly names: TableNames;
  readonly owner: string;
  /** In seconds since 1970. */
  readonly now: number;
  readonly columns: ReadonlySet<OptionalColumn>;
}

/**
 * MySQL's fast path: writes those rows that their owner still has, all groups in one round trip. The server may execute
 * it after its client has given up and tried again, so it is not for rows that wait again: the same daemon may have
 * accepted them anew by then.
 */
export class GroupedWrites {
  private readonly groups: readonly Group[];

  constructor({ begun, ended }: RowWrites, { names, owner, now, columns }: WrittenAs) {
    this.groups = [
      ...[...groupByAttempts(begun)].map(([attempts, ids]) => {
        // A repetition finds its own count. A statement that arrives late finds a higher one if the row was begun anew.
        const expected = columns.has('attempts') ? [attempts, attempts + 1] : undefined;
        const change = { ids, columns: beginning(attempts, now, columns), attempts: expected };
        return { ids, writes: [updateKept(names, owner, change)] };
      }),
      ...[...groupAlike(ended)].map(([change, ids]) => {
        return { ids, writes: updateDisowned(names, owner, { ids, columns: change }) };
      }),
    ];
  }

  /** Whether their owner still had all rows; those it had are written in any case. */
  async run(database: Database): Promise<boolean> {
    const counts = await this.counts(database);
    return this.groups.every(({ ids }, index) => counts[index] === ids.length);
  }

  /** How many rows each group found. */
  private async counts(database: Database): Promise<number[]> {
    const found = await database.writeTogether(this.groups.flatMap(({ writes }) => writes));
    const counts: number[] = [];
    let end = 0;
    for (const { writes } of this.groups) {
      end += writes.length;
      counts.push(found[end - 1] ?? 0);
    }
    return counts;
  }
}
