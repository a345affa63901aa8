import type { Cluster, Redis } from 'ioredis';
import { COUNT_KINDS, KEPT_HOURS, type Counts } from '../../../job/statistics.js';
import { explainRefusal, type Call } from '../../../redis/rights.js';
import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import { explainToOperator, type Explain, type Role } from '../../core/wire/rights.js';
import type { Now } from '../../core/wire/scripts.js';

/** An hour's statistics are kept for as long as statistics are, and until their hour is over. */
const STATISTICS_TTL_SECONDS = (KEPT_HOURS + 1) * 3600;

const defineScript = scriptsIn(LUA);

const addTo = defineScript<[now: Now, ttl: number, counts: (string | number)[]], void>(
  'statistics',
  () => undefined,
);

/** Adds counts to the statistics of this minute and hour. `key` is their prefix. */
export async function addStatistics(redis: Redis | Cluster, key: string, counts: Counts): Promise<void> {
  await addTo.run(redis, [key], '', STATISTICS_TTL_SECONDS, [...counts].flat());
}

/** Reads the counts of hours, of each as a whole or of its minutes, each with the name `MINUTE:KIND` or `:KIND`. */
export function readStatistics(
  redis: Redis | Cluster,
  prefix: string,
  hours: readonly number[],
  byMinute: boolean,
): Promise<Counts[]> {
  return Promise.all(
    hours.map(async (hour) =>
      countsIn(await (byMinute ? redis.hgetall(prefix + hour) : hourOf(redis, prefix + hour))),
    ),
  );
}

const HOUR_FIELDS = COUNT_KINDS.map((kind) => `:${kind}`);

async function hourOf(redis: Redis | Cluster, key: string): Promise<Record<string, string | null>> {
  const values = await redis.hmget(key, ...HOUR_FIELDS);
  return Object.fromEntries(HOUR_FIELDS.map((field, index) => [field, values[index] ?? null]));
}

/** Other programs may have written anything. */
function countsIn(fields: Readonly<Record<string, string | null>>): Counts {
  const counts = Object.entries(fields).map(([field, value]) => [field, Number(value ?? 0)] as const);
  return new Map(counts.filter(([, count]) => Number.isSafeInteger(count) && count > 0));
}

const X = 'x';

/** Workers count what happens to jobs, and operators read that. */
export function statisticsRights(role: Role, k: FunctionKeys): Call[] {
  const key = k.statistics + X;
  if (role === 'client') return [];
  return role === 'worker'
    ? [
        ['HINCRBY', key, X, '1'],
        ['EXPIRE', key, '1'],
      ]
    : [
        ['HGETALL', key],
        ['HMGET', key, X],
      ];
}

/** As `explainToOperator`, for one who reads statistics. */
export const explainToReader: Explain = async (commands, refusal, fn, keysOf) => {
  const why = await explainToOperator(commands, refusal, fn, keysOf);
  const calls = statisticsRights('operator', keysOf(fn));
  return why === refusal ? explainRefusal(commands, refusal, calls, `an operator of "${fn}"`) : why;
};
