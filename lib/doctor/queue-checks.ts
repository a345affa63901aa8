import {
  type Examination,
  type ExaminedFunction,
  listOf,
  SAMPLE,
  type SampledJob,
  type Suspicion,
} from '../gearmonkey/core/examination.js';
import type { FunctionState } from './function-state.js';

/** Searching longer queues would keep the server from its work. */
const MOST_QUEUED = 10_000;
const LEASE_MS = 10_000;

const REMOVE_UNLESS_JOB = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if ARGV[2] == 'zset' then return redis.call('ZREM', KEYS[2], ARGV[1]) end
return redis.call('LREM', KEYS[2], 1, ARGV[1]) + redis.call('LREM', KEYS[2], -1, ARGV[1])`;

/** Compares both ends of a function's queues with its jobs. */
export async function checkQueues(
  { redis }: Examination,
  { fn, keys: k }: ExaminedFunction,
): Promise<Suspicion[]> {
  const ends = async (key: string) => [
    ...(await redis.lrange(key, 0, SAMPLE - 1)),
    ...(await redis.lrange(key, -SAMPLE, -1)),
  ];
  const queues = [
    ...[k.high, k.normal, k.low].map((key) => ({ key, kind: 'list', ids: ends(key) })),
    { key: k.scheduled, kind: 'zset', ids: redis.zrange(k.scheduled, '0', String(SAMPLE - 1)) },
  ];
  const lost: { key: string; kind: string; id: string }[] = [];
  for (const { key, kind, ids } of queues)
    for (const id of new Set(await ids))
      if ((await redis.exists(k.jobs + id)) === 0) lost.push({ key, kind, id });
  if (lost.length === 0) return [];
  const remove = async (ids: readonly string[]) => {
    for (const { key, kind, id } of lost)
      if (ids.includes(id)) await redis.eval(REMOVE_UNLESS_JOB, 2, k.jobs + id, key, id, kind);
  };
  return [
    {
      code: 'QUEUED_WITHOUT_JOB',
      ids: lost.map(({ id }) => id),
      finding: (ids) => ({
        code: 'QUEUED_WITHOUT_JOB',
        severity: 'warning',
        fn,
        title: `${ids.length} sampled entries in queues of ${fn} have no job: ${listOf(ids)}.`,
        remedy:
          'Workers of this package drop them, plain ones may fail. Their jobs have expired, or were deleted or evicted.',
        fix: { does: 'removes these entries', apply: () => remove(ids) },
      }),
    },
  ];
}

/** Compares jobs that wait or run with the function's queues and leases. */
export async function checkPlaces(
  examination: Examination,
  examined: ExaminedFunction,
  state: FunctionState,
  jobs: readonly SampledJob[],
): Promise<Suspicion[]> {
  const busy: string[] = [];
  const idle: string[] = [];
  for (const job of jobs) {
    if (job.isLost) continue;
    if (job.status === 'busy' && job.token !== '') {
      const member = `${job.id}:${job.token}`;
      if ((await examination.redis.zscore(examined.keys.leases, member)) === null) busy.push(member);
    } else if (job.status === 'idle' && state.queued <= MOST_QUEUED) {
      if (!(await isQueued(examination, examined, job))) idle.push(job.id);
    }
  }
  return [
    ...(busy.length > 0 ? [withoutLease(examination, examined, busy)] : []),
    ...(idle.length > 0 ? [inNoQueue(examined.fn, idle)] : []),
  ];
}

/** A job with a key may also wait in a list of its key. One that is too long to be searched counts as its queue. */
async function isQueued(
  { redis }: Examination,
  { keys: k }: ExaminedFunction,
  { id, key }: SampledJob,
): Promise<boolean> {
  const own = ['high', 'normal', 'low'].map((priority) => `${k.limits}wait:${priority}:${key}`);
  const lists = [k.high, k.normal, k.low, ...(key === undefined ? [] : own)];
  const search = async (list: string) => ((await redis.llen(list)) > MOST_QUEUED ? 0 : redis.lpos(list, id));
  const places = await Promise.all([
    redis.zscore(k.scheduled, id),
    key === undefined ? null : redis.zscore(`${k.limits}due`, `${id}:${key}`),
    ...lists.map(search),
  ]);
  return places.some((place) => place !== null);
}

function withoutLease({ redis }: Examination, { fn, keys }: ExaminedFunction, members: string[]): Suspicion {
  const lease = async (those: readonly string[]) => {
    const [seconds] = await redis.time();
    const until = Number(seconds) * 1000 + LEASE_MS;
    for (const member of those) await redis.zadd(keys.leases, 'NX', until, member);
  };
  return {
    code: 'BUSY_WITHOUT_LEASE',
    ids: members,
    finding: (those) => ({
      code: 'BUSY_WITHOUT_LEASE',
      severity: 'error',
      fn,
      title: `${those.length} sampled jobs of ${fn} run without a lease, so they stay so if their worker is dead: ${listOf(those)}.`,
      remedy: 'Leases were deleted or evicted. Give them a lease again: then a worker recovers them.',
      fix: { does: 'gives them a lease, which a living worker renews', apply: () => lease(those) },
    }),
  };
}

function inNoQueue(fn: string, all: string[]): Suspicion {
  return {
    code: 'WAITING_IN_NO_QUEUE',
    ids: all,
    finding: (ids) => ({
      code: 'WAITING_IN_NO_QUEUE',
      severity: 'error',
      fn,
      title: `${ids.length} sampled jobs of ${fn} wait, but are in no queue: ${listOf(ids)}.`,
      remedy:
        `A plain worker died with them, or a queue was deleted. Queue them again: LPUSH queue:${fn}:normal ID ` +
        `(first HDEL job:${fn}:ID key, if they have one).`,
    }),
  };
}
