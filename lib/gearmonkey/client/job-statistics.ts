import { systemClock } from '../../job/clock.js';
import type { FunctionRef } from '../../job/job-definition.js';
import {
  statisticsQuery,
  toStatistics,
  type Counts,
  type JobStatistics,
  type StatisticsOptions,
} from '../../job/statistics.js';
import type { JobStore } from './job-store.js';
import type { KnownFunctions } from './known-functions.js';

/** Reads a function's statistics. @throws ConfigurationError, InvalidOptionError */
export async function readJobStatistics(
  store: Pick<JobStore, 'statistics' | 'clock'>,
  functions: KnownFunctions,
  ref: FunctionRef,
  options: StatisticsOptions,
): Promise<JobStatistics[]> {
  const fn = functions.nameOf(ref);
  const query = statisticsQuery(options, (store.clock ?? systemClock).now());
  const counts = await store.statistics(fn, query.hours, query.by === 'minute');
  const byHour = new Map(query.hours.map((hour, index) => [hour, partsOf(counts[index] ?? new Map())]));
  return toStatistics(query, (hour, minute) => byHour.get(hour)?.get(String(minute ?? '')) ?? new Map());
}

/** The counts of each minute by its number, and of the whole hour by ''. */
function partsOf(hour: Counts): Map<string, Map<string, number>> {
  const parts = new Map<string, Map<string, number>>();
  for (const [field, count] of hour) {
    const end = field.indexOf(':');
    const [part, kind] = [field.slice(0, end), field.slice(end + 1)];
    const found = parts.get(part) ?? new Map<string, number>();
    parts.set(part, found.set(kind, count));
  }
  return parts;
}
