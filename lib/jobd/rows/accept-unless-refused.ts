import { messageOf } from '../../job/errors.js';
import { isRefusedRow } from '../storage/errors.js';
import type { JobdLog } from '../vocabulary/log.js';

/** How rows are accepted. */
export interface Acceptances<Row extends { readonly id: number }, T> {
  readonly together: () => Promise<T>;
  /** The rows to accept. */
  readonly rows: () => Promise<readonly Row[]>;
  readonly one: (row: Row) => Promise<T>;
  /** Called for each row that the table refuses. */
  readonly onRefused: (row: Row) => void;
}

/** Accepts rows together, or one by one if the table refuses one of them: that one is left and logged. */
export async function acceptUnlessRefused<Row extends { readonly id: number }, T>(
  { together, rows, one, onRefused }: Acceptances<Row, T>,
  log: JobdLog,
): Promise<readonly T[]> {
  try {
    return [await together()];
  } catch (error) {
    if (!isRefusedRow(error)) throw error;
  }
  const accepted: T[] = [];
  for (const row of await rows()) {
    try {
      accepted.push(await one(row));
    } catch (error) {
      if (isRefusedRow(error)) {
        log.error(`Row ${row.id} can't be accepted, the table refuses it: ${messageOf(error)}`);
        onRefused(row);
        continue;
      }
      // Those already accepted must still be handled.
      if (accepted.length > 0) return accepted;
      throw error;
    }
  }
  return accepted;
}
