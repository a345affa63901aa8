import { isOurs } from './fields.js';
import { keyOf, type Disturbance, type End, type History } from './history.js';
import { HANDLED, ODD } from './jobs.mjs';
import { found, type Violation } from './violation.js';

/** What a worker has counted and not yet written is lost with it, or with its connection. */
const COUNTED_MS = 6_000;
/** How long a worker may need to be connected again. */
const AGAIN_MS = 10_000;

/** No job is counted twice, and none is left out but those of the last seconds before something broke. */
export function* statisticsHold(history: History): Iterable<Violation> {
  const { statistics, written } = history;
  if (!statistics) return;
  const sure = surelyCounted(history);
  for (const fn of Object.keys(HANDLED).filter((name) => name !== ODD)) {
    const { done = 0, failed = 0 } = statistics.counted.get(fn) ?? {};
    const ends = [...written].filter(([key]) => key.startsWith(`${fn}#`)).map(([, account]) => account);
    const successes = ends.reduce((sum, one) => sum + (one.successes ?? 0), 0);
    const errors = ends.reduce((sum, one) => sum + one.completions, 0) - successes;
    if (done > successes) yield found(fn, `${done} jobs are counted as done, and ${successes} succeeded`);
    if (failed > errors)
      yield found(fn, `${failed} jobs are counted as failed, and ${errors} ended as errors`);
    const least = sure.get(fn) ?? 0;
    if (done < least) yield found(fn, `${done} jobs are counted as done, and ${least} succeeded in peace`);
  }
}

/** By function, how many jobs succeeded on workers that nothing happened to for a while. */
function surelyCounted({ readings, ends, statistics }: History): Map<string, number> {
  const byClaim = new Map(ends.map((end) => [`${keyOf(end)}:${end.token}`, end]));
  const counts = new Map<string, number>();
  for (const [key, { fn, fields }] of readings) {
    if (fields['status'] !== 'success' || !isOurs(fields)) continue;
    const end = byClaim.get(`${key}:${fields['settled']}`);
    if (end && !statistics?.disturbances.some((one) => concerns(one, end)))
      counts.set(fn, (counts.get(fn) ?? 0) + 1);
  }
  return counts;
}

function concerns({ process, began, ended }: Disturbance, end: End): boolean {
  if (process !== undefined && process !== end.process) return false;
  return end.at > began - COUNTED_MS && end.at < ended + AGAIN_MS;
}
