import type { Examination } from './examination.js';
import type { ExaminedFunction } from './function-names.js';
import type { FunctionState } from './function-state.js';
import type { Suspicion } from './suspicion.js';

/** How many jobs and how many entries at each end of a queue are compared. */
const SAMPLE = 100;
/** Searching longer queues would keep the server from its work. */
const MOST_QUEUED = 10_000;
/** A plain client writes a job before it queues it. */
const SETTLED_MS = 60_000;
const LEASE_MS = 10_000;
const SHOWN_IDS = 5;

const REMOVE_UNLESS_JOB = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if ARGV[2] == 'zset' then return redis.call('ZREM', KEYS[2], ARGV[1]) end
return redis.call('LREM', KEYS[2], 1, ARGV[1]) + redis.call('LREM', KEYS[2], -1, ARGV[1])`;

/** Compares samples of a function's queues and leases with its jobs. */
export async function checkSamples(
  examination: Examination,
  examined: ExaminedFunction,
  state: FunctionState,
): Promise<Suspicion[]> {
  const found = await examination.look('jobs of functions', () =>
    Promise.all([checkQueues(examination, examined), checkJobs(examination, examined, state)]),
  );
  return found?.flat() ?? [];
}

async function checkQueues({ redis }: Examination, { fn, keys: k }: ExaminedFunction): Promise<Suspicion[]> {
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

interface SampledJob {
  readonly id: string;
  readonly status: string;
  readonly token: string;
}

async function checkJobs(
  examination: Examination,
  examined: ExaminedFunction,
  state: FunctionState,
): Promise<Suspicion[]> {
  const { fn, keys: k } = examined;
  const jobs = await sampledJobs(examination, examined, state.now);
  const busy: string[] = [];
  const idle: string[] = [];
  for (const { id, status, token } of jobs) {
    if (status === 'busy' && token !== '') {
      const member = `${id}:${token}`;
      if ((await examination.redis.zscore(k.leases, member)) === null) busy.push(member);
    } else if (status === 'idle' && state.queued <= MOST_QUEUED) {
      if (!(await isQueued(examination, examined, id))) idle.push(id);
    }
  }
  return [
    ...(busy.length > 0 ? [withoutLease(examination, examined, busy)] : []),
    ...(idle.length > 0 ? [inNoQueue(fn, idle)] : []),
  ];
}

/** The latest jobs, and some from all over the rest. Those with a limit's key wait in other lists. */
async function sampledJobs(
  { redis }: Examination,
  { keys }: ExaminedFunction,
  now: number,
): Promise<SampledJob[]> {
  const last = Number(await redis.get(keys.ids)) || 0;
  const step = Math.max(1, Math.floor(last / SAMPLE));
  const ids = new Set<number>();
  for (let id = last; id > 0 && id > last - SAMPLE; id--) ids.add(id);
  for (let id = last; id > 0; id -= step) ids.add(id);
  const fields = ['status', 'token', 'lost', 'created', 'key'] as const;
  const read = [...ids].map(async (id): Promise<SampledJob[]> => {
    const [status, token, lost, created, key] = await redis.hmget(`${keys.jobs}${id}`, ...fields);
    // A plain worker may have a job whose last claim was lost. Without a time it is not known how old a job is.
    if (typeof key === 'string' || (token && token === lost) || !created) return [];
    if (Number(created) > now - SETTLED_MS) return [];
    return [{ id: String(id), status: status ?? '', token: token ?? '' }];
  });
  return (await Promise.all(read)).flat();
}

async function isQueued({ redis }: Examination, { keys: k }: ExaminedFunction, id: string): Promise<boolean> {
  const places = await Promise.all([
    redis.zscore(k.scheduled, id),
    ...[k.high, k.normal, k.low].map((key) => redis.lpos(key, id)),
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
      remedy: `A plain worker died with them, or a queue was deleted. Queue them again: LPUSH queue:${fn}:normal ID.`,
    }),
  };
}

function listOf(ids: readonly string[]): string {
  const more = ids.length > SHOWN_IDS ? ` and ${ids.length - SHOWN_IDS} more` : '';
  return ids.slice(0, SHOWN_IDS).join(', ') + more;
}
