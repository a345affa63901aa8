import {
  type Examination,
  type Finding,
  type ExaminedFunction,
  plainly,
  type Suspicion,
} from '../gearmonkey/core/examination.js';

/** An expired lease that no worker has recovered for so long is stuck. Workers recover twice a second. */
const STUCK_MS = 30_000;
/** Presence that ended so long ago was not noticed by another worker. */
const DEAD_MS = 30_000;
const MOST_MEMBERS = 100;

/** The numbers of a function. Undefined is what could not be read. */
export interface FunctionState {
  readonly now: number;
  /** Lengths of the lists, and of those scheduled jobs that are due. */
  readonly waiting: number;
  /** Lengths of all queues. */
  readonly queued: number;
  /** Members of leases that ended long ago. */
  readonly stuck: readonly string[];
  /** As it is stored. */
  readonly count: string | undefined;
  readonly alive: number | undefined;
  readonly dead: number;
  readonly paused: boolean;
  readonly wrongTypes: readonly Suspicion[];
}

const ENDED = ['success', 'failed', 'cancelled'] as const;

export async function readState(
  examination: Examination,
  { fn, keys: k }: ExaminedFunction,
): Promise<FunctionState> {
  const { redis } = examination;
  const time = await examination.look('TIME', () => redis.time());
  const now = time ? Number(time[0]) * 1000 : Date.now();
  const wrongTypes: Suspicion[] = [];
  const ask = <T>(what: string, key: string, question: () => Promise<T>): Promise<T | undefined> =>
    examination.look(`${what} of functions`, () =>
      question().catch((error: unknown) => {
        if (!(error instanceof Error && error.message.startsWith('WRONGTYPE'))) throw error;
        wrongTypes.push(wrongType(fn, key));
        return undefined;
      }),
    );
  const [high, normal, low, scheduled, due, stuck, count, alive, dead, paused] = await Promise.all([
    ask('queues', k.high, () => redis.llen(k.high)),
    ask('queues', k.normal, () => redis.llen(k.normal)),
    ask('queues', k.low, () => redis.llen(k.low)),
    ask('queues', k.scheduled, () => redis.zcard(k.scheduled)),
    ask('scheduled jobs', k.scheduled, () => redis.zcount(k.scheduled, '-inf', now / 1000)),
    ask('leases', k.leases, () =>
      redis.zrangebyscore(k.leases, '-inf', now - STUCK_MS, 'LIMIT', 0, MOST_MEMBERS),
    ),
    ask('workers', k.count, () => redis.get(k.count)),
    ask('presence', k.workers, () => redis.zcount(k.workers, now - DEAD_MS, '+inf')),
    ask('presence', k.workers, () => redis.zcount(k.workers, '-inf', `(${now - DEAD_MS}`)),
    ask('pauses', k.control, () => redis.hmget(k.control, 'paused')),
    ask('schedules', k.ticks, () => redis.zcard(k.ticks)),
    ask('unique keys', k.unique, () => redis.hlen(k.unique)),
    ...[k.retrying, k.tags, ...ENDED.map((state) => k.ended + state)].map((key) =>
      ask('lists', key, () => redis.zcard(key)),
    ),
  ]);
  const listed = (high ?? 0) + (normal ?? 0) + (low ?? 0);
  return {
    now,
    waiting: listed + (due ?? 0),
    queued: listed + (scheduled ?? 0),
    stuck: stuck ?? [],
    count: count ?? undefined,
    alive,
    dead: dead ?? 0,
    paused: typeof paused?.[0] === 'string',
    wrongTypes,
  };
}

function wrongType(fn: string, key: string): Suspicion {
  const finding: Finding = {
    code: 'WRONG_TYPE',
    severity: 'error',
    fn,
    title: `${key} is of another type than the protocol says: another program has written it.`,
    remedy: `Find that program; then rename the key (RENAME ${key} …) or delete it.`,
  };
  return plainly(finding);
}
