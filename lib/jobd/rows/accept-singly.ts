import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import { isRefusedRow } from '../storage/errors.js';

/** Accepts rows each by itself, for where the table refuses one of them: that one is left, with a line in the log. */
export async function acceptSingly<T>(
  ids: readonly number[],
  accept: (id: number) => Promise<T>,
  log: JobdLog,
): Promise<T[]> {
  const accepted: T[] = [];
  for (const id of ids) {
    try {
      accepted.push(await accept(id));
    } catch (error) {
      if (!isRefusedRow(error)) throw error;
      log.error(`Row ${id} can't be accepted, the table refuses it: ${messageOf(error)}`);
    }
  }
  return accepted;
}
