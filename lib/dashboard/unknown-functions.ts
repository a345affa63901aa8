import type { GearMonkeyClient } from '../gearmonkey/client.js';
import type { QueueOverview } from '../job/job-views.js';
import type { FunctionView } from './api.js';
import { unlessRefused } from './unless-refused.js';

/** What there is of a function, if it is known and the app may read it. */
export type ReadOverview = QueueOverview & Pick<FunctionView, 'refused' | 'unknown'>;

/** As many names as `functions` gives at most: of others it says nothing. */
const MOST_NAMES = 1000;

/** Of these, the functions of which nothing is known: no jobs, no workers, no definition here, and no place in the index. */
export async function unknownAmong(
  client: GearMonkeyClient,
  found: readonly ReadOverview[],
): Promise<readonly string[]> {
  const idle = found.flatMap((one) => (isIdle(one) && !client.defines(one.fn) ? [one.fn] : []));
  if (idle.length === 0) return [];
  // The app may have no right to the index.
  const known = await unlessRefused(client.functions(), () => undefined);
  return known && known.length < MOST_NAMES ? idle.filter((fn) => !known.includes(fn)) : [];
}

function isIdle({ waiting, paused, oldest, refused, ...counts }: ReadOverview): boolean {
  const isQuiet = paused !== true && oldest === undefined && refused === undefined;
  const numbers = [...Object.values(waiting), ...Object.values(counts)];
  return isQuiet && numbers.every((value) => typeof value !== 'number' || value === 0);
}
