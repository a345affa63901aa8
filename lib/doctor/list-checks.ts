import {
  type Examination,
  type ExaminedFunction,
  listOf,
  SAMPLE,
  type SampledJob,
  type Suspicion,
} from '../gearmonkey/core/examination.js';
import type { FunctionState } from './function-state.js';

const STATES = ['success', 'failed', 'cancelled'] as const;
/** A list outlives the jobs that it shows by so much; its expiry is set every minute. */
const OUTLIVES_MS = 3_600_000;
const BETWEEN_TRIMS_MS = 120_000;

const REMOVE_UNLESS_ENDED = `
local job = redis.call('HMGET', KEYS[1], 'status', 'finished')
if job[1] == ARGV[2] and tonumber(job[2]) == tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1])) then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])`;

const ADD_IF_ENDED = `
if redis.call('HGET', KEYS[1], 'finished') ~= ARGV[2] then return 0 end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[2]) == -1 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
return 1`;
const LIST_SECONDS = 93_600;

interface Entry {
  readonly list: string;
  readonly status: string;
  readonly id: string;
}

/** Compares the lists of ended jobs with the jobs, both ways. */
export async function checkLists(
  examination: Examination,
  examined: ExaminedFunction,
  { now }: FunctionState,
  jobs: readonly SampledJob[],
): Promise<Suspicion[]> {
  const wrong: Entry[] = [];
  for (const state of STATES) wrong.push(...(await wrongEntries(examination, examined, state, now)));
  const missing: SampledJob[] = [];
  for (const job of jobs) if (!(await isListed(examination, examined, job))) missing.push(job);
  return [
    ...(wrong.length > 0 ? [listedWrongly(examination, examined, wrong)] : []),
    ...(missing.length > 0 ? [notListed(examination, examined, missing)] : []),
  ];
}

async function wrongEntries(
  { redis }: Examination,
  { keys }: ExaminedFunction,
  state: string,
  now: number,
): Promise<Entry[]> {
  const list = keys.ended + state;
  const status = state === 'success' ? 'success' : 'error';
  const left = await redis.pttl(list);
  const ends = await Promise.all([
    redis.zrange(list, '0', String(SAMPLE - 1), 'WITHSCORES'),
    redis.zrange(list, String(-SAMPLE), '-1', 'WITHSCORES'),
  ]);
  const wrong = new Map<string, Entry>();
  for (const words of ends)
    for (let i = 0; i + 1 < words.length; i += 2) {
      const [id = '', ended] = [words[i], Number(words[i + 1])];
      const [own, finished] = await redis.hmget(keys.jobs + id, 'status', 'finished');
      // An entry stays until it is trimmed, a while after its job has expired.
      const isExpired = left < 0 || ended < now - (left - OUTLIVES_MS) + BETWEEN_TRIMS_MS;
      const holds = own === null ? isExpired : own === status && Number(finished) === ended;
      if (id !== '' && !holds) wrong.set(id, { list, status, id });
    }
  return [...wrong.values()];
}

/** Users' errors may have any code, so that of a job does not say which of two lists it is in. */
async function isListed(
  { redis }: Examination,
  { keys }: ExaminedFunction,
  { id, status, finished }: SampledJob,
): Promise<boolean> {
  if (finished === undefined || (status !== 'success' && status !== 'error')) return true;
  const states = status === 'success' ? ['success'] : ['failed', 'cancelled'];
  const places = await Promise.all(states.map((state) => redis.zscore(keys.ended + state, id)));
  return places.some((place) => place !== null);
}

function listedWrongly({ redis }: Examination, { fn, keys }: ExaminedFunction, wrong: Entry[]): Suspicion {
  const remove = async (ids: readonly string[]) => {
    for (const { list, status, id } of wrong)
      if (ids.includes(id)) await redis.eval(REMOVE_UNLESS_ENDED, 2, keys.jobs + id, list, id, status);
  };
  return {
    code: 'LISTED_WRONGLY',
    ids: wrong.map(({ id }) => id),
    finding: (ids) => ({
      code: 'LISTED_WRONGLY',
      severity: 'warning',
      fn,
      title: `${ids.length} sampled entries in lists of ended jobs of ${fn} are of no such job: ${listOf(ids)}.`,
      remedy: 'Another program has deleted or changed these jobs: totals are too high, and pages too short.',
      fix: { does: 'removes these entries', apply: () => remove(ids) },
    }),
  };
}

function notListed({ redis }: Examination, { fn, keys }: ExaminedFunction, missing: SampledJob[]): Suspicion {
  const add = async (ids: readonly string[]) => {
    for (const { id, status, finished = 0 } of missing) {
      if (!ids.includes(id)) continue;
      const list = `${keys.ended}${status === 'success' ? 'success' : 'failed'}`;
      await redis.eval(ADD_IF_ENDED, 2, keys.jobs + id, list, id, finished, LIST_SECONDS);
    }
  };
  return {
    code: 'ENDED_NOT_LISTED',
    ids: missing.map(({ id }) => id),
    finding: (ids) => ({
      code: 'ENDED_NOT_LISTED',
      severity: 'warning',
      fn,
      title: `${ids.length} sampled jobs of ${fn} have ended, and are in no list of ended jobs: ${listOf(ids)}.`,
      remedy:
        'A list was deleted or evicted, or a user had no right to it (RIGHTS). New jobs are listed again.',
      fix: { does: 'lists these jobs, and no others', apply: () => add(ids) },
    }),
  };
}
