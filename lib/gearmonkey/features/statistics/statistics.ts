import { systemClock } from '../../../job/clock.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import {
  statisticsQuery,
  toStatistics,
  type Counts,
  type JobStatistics,
  type StatisticsOptions,
} from '../../../job/statistics.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';
import type { StoreServer } from '../../core/client/store-server.js';
import type { ClientCore, Feature } from '../../core/feature.js';
import { StatisticsWriter } from './statistics-writer.js';
import { explainToReader, readStatistics, statisticsRights } from './stored-counts.js';

/** A store that has counted what happened to jobs. */
export interface StatisticsStore extends JobStore {
  readonly statistics: {
    /** What happened in hours, counted from 1970: fields `:KIND`, and with `byMinute` also `MINUTE:KIND`. */
    read(fn: string, hours: readonly number[], byMinute: boolean): Promise<Counts[]>;
  };
}

/** The method of a `GearMonkeyClient` that counts what happened. */
export class StatisticsClient {
  readonly #core: ClientCore<StatisticsStore>;

  /** @internal */
  constructor(core: ClientCore<StatisticsStore>) {
    this.#core = core;
  }

  /**
   * What happened to the function's jobs in each minute, hour or day; 72 hours are kept. Workers of this package count what
   * they run, and write it every five seconds.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async statistics(ref: FunctionRef, options: StatisticsOptions = {}): Promise<JobStatistics[]> {
    return readJobStatistics(this.#core.store, this.#core.functions, ref, options);
  }
}

/** Reads a function's statistics. @throws ConfigurationError, InvalidOptionError */
async function readJobStatistics(
  store: Pick<StatisticsStore, 'statistics' | 'clock'>,
  functions: KnownFunctions,
  ref: FunctionRef,
  options: StatisticsOptions,
): Promise<JobStatistics[]> {
  const fn = functions.nameOf(ref);
  const query = statisticsQuery(options, (store.clock ?? systemClock).now());
  const counts = await store.statistics.read(fn, query.hours, query.by === 'minute');
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

function statisticsOn(server: StoreServer): StatisticsStore['statistics'] {
  return {
    read: (fn, hours, byMinute) =>
      server.questions.ask(
        fn,
        'Reading statistics',
        (redis) => readStatistics(redis, server.keysOf(fn).statistics, hours, byMinute),
        { explain: explainToReader },
      ),
  };
}

/** What happened to jobs in each minute, hour or day: workers count it. */
export const statistics: Feature<StatisticsStore> = {
  name: 'statistics',
  store: statisticsOn,
  client: StatisticsClient,
  source: ({ connections: { commands }, keysOf, problems, options }) => ({
    counting: options.statistics ? new StatisticsWriter(commands, keysOf, problems) : undefined,
  }),
  rights: statisticsRights,
};
