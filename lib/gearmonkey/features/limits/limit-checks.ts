import {
  listOf,
  SAMPLE,
  type Examination,
  type Examined,
  type ExaminedFunction,
  type FeatureCheck,
  type Suspicion,
} from '../../core/examination.js';

const PRIORITIES = ['high', 'normal', 'low'] as const;

const FREE = `
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('SREM', KEYS[2], ARGV[2])
if redis.call('ZSCORE', KEYS[3], ARGV[3]) then redis.call('ZADD', KEYS[3], '0', ARGV[3]) end
return 1`;

const GIVE_TURN = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for _, parked in ipairs({ KEYS[3], KEYS[4] }) do
  if redis.call('ZSCORE', parked, ARGV[1]) then return 0 end
end
redis.call('ZADD', KEYS[2], 'NX', '0', ARGV[1])
if redis.call('EXISTS', KEYS[5]) == 0 then redis.call('LPUSH', KEYS[5], '1') end
return 1`;

/** A claim that counts for a limit. */
interface Place {
  readonly key: string;
  /** As the set has it. */
  readonly marked: string;
  /** "id:token" */
  readonly member: string;
  readonly leases: string;
}

export const limitChecks: FeatureCheck = { of: 'limits', check: checkLimits };

/** Compares the keys of a function's limit with its leases and its jobs that wait. */
async function checkLimits(examination: Examination, examined: Examined): Promise<Suspicion[]> {
  const { redis } = examination;
  const { control, limits } = examined.keys;
  const rules = await redis.hget(control, 'limit');
  if (rules === null) return [];
  const shared = /^\d*:\d*:\d*:[a-z]+:(.+)$/s.exec(rules)?.[1];
  const space = shared === undefined ? limits : `shared-limit:${shared}:`;
  const parked = await redis.zrange(`${space}parked`, '0', String(SAMPLE - 1));
  const waiting = new Set(
    examined.jobs.flatMap(({ status, key }) => (status === 'idle' && key !== undefined ? [key] : [])),
  );
  const places: Place[] = [];
  for (const key of new Set([...parked, ...waiting]))
    places.push(...(await placesLeft(examination, examined, space, key)));
  const turnless: string[] = [];
  for (const key of waiting) if (!(await hasTurn(examination, limits, space, key))) turnless.push(key);
  return [
    ...(places.length > 0 ? [placeLeft(examination, examined, space, places)] : []),
    ...(turnless.length > 0 ? [withoutTurn(examination, examined, space, turnless)] : []),
  ];
}

/** Claims that count and have no lease. Those in the function's places are recovered by its workers. */
async function placesLeft(
  { redis }: Examination,
  { keys }: ExaminedFunction,
  space: string,
  key: string,
): Promise<Place[]> {
  const left: Place[] = [];
  for (const marked of await redis.srandmember(`${space}running:${key}`, SAMPLE)) {
    const [, own = '', member = marked] = /^limit:(.*):(\d+:\d+)$/s.exec(marked) ?? [];
    const leases = own === '' ? keys.leases : `lease:${own}`;
    const places = own === '' ? `${keys.limits}places` : `limit:${own}:places`;
    const [lease, place] = await Promise.all([redis.zscore(leases, member), redis.hget(places, member)]);
    if (lease === null && place === null) left.push({ key, marked, member, leases });
  }
  return left;
}

async function hasTurn({ redis }: Examination, limits: string, space: string, key: string): Promise<boolean> {
  const parked = await Promise.all(
    [`${space}parked`, `${limits}parked`].map((set) => redis.zscore(set, key)),
  );
  if (parked.some((score) => score !== null)) return true;
  for (const priority of PRIORITIES) {
    const waits = (await redis.exists(`${limits}wait:${priority}:${key}`)) === 1;
    if (waits && (await redis.zscore(`${limits}ready:${priority}`, key)) === null) return false;
  }
  return true;
}

function placeLeft(
  { redis }: Examination,
  { fn }: ExaminedFunction,
  space: string,
  places: readonly Place[],
): Suspicion {
  const free = async (members: readonly string[]) => {
    for (const { key, marked, member, leases } of places) {
      const keys = [leases, `${space}running:${key}`, `${space}parked`];
      if (members.includes(marked)) await redis.eval(FREE, 3, ...keys, member, marked, key);
    }
  };
  return {
    code: 'LIMIT_PLACE_LEFT',
    ids: places.map(({ marked }) => marked),
    finding: (members) => ({
      code: 'LIMIT_PLACE_LEFT',
      severity: 'error',
      fn,
      title: `${members.length} places of the limit of ${fn} are taken by claims that are over: ${listOf(members)}.`,
      remedy: 'Keys were deleted or evicted, so that fewer jobs run than may, or none. Free these places.',
      fix: { does: 'frees these places', apply: () => free(members) },
    }),
  };
}

function withoutTurn(
  { redis }: Examination,
  { fn, keys: k }: ExaminedFunction,
  space: string,
  all: readonly string[],
): Suspicion {
  const give = async (keys: readonly string[]) => {
    for (const key of keys)
      for (const priority of PRIORITIES) {
        const [wait, ready] = [`${k.limits}wait:${priority}:${key}`, `${k.limits}ready:${priority}`];
        await redis.eval(GIVE_TURN, 5, wait, ready, `${space}parked`, `${k.limits}parked`, k.wake, key);
      }
  };
  return {
    code: 'KEY_WITHOUT_TURN',
    ids: all,
    finding: (keys) => ({
      code: 'KEY_WITHOUT_TURN',
      severity: 'error',
      fn,
      title: `Jobs of ${keys.length} sampled keys of the limit of ${fn} wait, and no worker looks at them.`,
      remedy: 'The list of keys that have a turn was deleted or evicted. Give them a turn again.',
      fix: { does: 'gives them a turn', apply: () => give(keys) },
    }),
  };
}
