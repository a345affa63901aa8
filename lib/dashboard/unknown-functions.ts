import type { GearMonkeyClient } from '../gearmonkey/client.js';
import type { QueueOverview } from '../job/job-views.js';
import { RefusedError } from '../job/server-errors.js';

/** As many names as `functions` gives at most: of others it says nothing. */
const MOST_NAMES = 1000;

/** Of these, the functions of which nothing is known: no jobs, no workers, no definition here, and no place in the index. */
export async function unknownAmong(
  client: GearMonkeyClient,
  found: readonly QueueOverview[],
): Promise<readonly string[]> {
  const idle = found.flatMap((one) => (isIdle(one) && !client.defines(one.fn) ? [one.fn] : []));
  if (idle.length === 0) return [];
  const known = await namesIn(client);
  return known && known.length < MOST_NAMES ? idle.filter((fn) => !known.includes(fn)) : [];
}

function isIdle({ waiting, paused, oldest, ...counts }: QueueOverview): boolean {
  const isQuiet = paused !== true && oldest === undefined;
  const numbers = [...Object.values(waiting), ...Object.values(counts)];
  return isQuiet && numbers.every((value) => typeof value !== 'number' || value === 0);
}

/** Undefined if the app has no right to the index. */
async function namesIn(client: GearMonkeyClient): Promise<readonly string[] | undefined> {
  try {
    return await client.functions();
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}
