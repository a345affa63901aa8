import type { Redis } from 'ioredis';
import { diagnose } from '../../lib/doctor/diagnose.js';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { ENDED_LISTS, keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { JOB_STATES, type FinalState, type JobState } from '../../lib/job/job-state.js';
import type { FunctionOverview } from '../../lib/job/job-views.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import type { StatisticsSeen } from './history.js';
import { TAG } from './jobs.mjs';

export const ENDED_STATES = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly FinalState[];

/** Ids of a sorted set with their scores, in their order. */
export type Entries = readonly (readonly [id: string, score: number])[];

/** What `list` shows of one state, read page by page. */
export interface Listed {
  readonly newest: readonly string[];
  readonly oldest: readonly string[];
  readonly total: number;
}

/** What there is of a function besides its jobs. */
export interface FunctionIndexes {
  readonly ended: Readonly<Record<FinalState, Entries>>;
  readonly retrying: Entries;
  /** Ids in queues, leases and lists of keys. */
  readonly queued: readonly string[];
  readonly listed: Readonly<Record<JobState, Listed>>;
  /** Ids that `find` shows for the tag, page by page. */
  readonly tagged: readonly string[];
}

/** Everything that is kept of jobs besides their hashes, and what the doctor says. */
export interface Indexes {
  readonly functions: readonly string[];
  readonly byFunction: ReadonlyMap<string, FunctionIndexes>;
  readonly overview: readonly FunctionOverview[];
  /** Codes of findings, each with its function and text. */
  readonly findings: readonly { readonly code: string; readonly fn?: string; readonly title: string }[];
}

const PAGE = 100;
/** A busy machine may make any script slow. */
const NEVER_SLOW = 3_600_000;

/** Read when nothing waits or runs any more. */
export async function readIndexes(url: string, redis: Redis, functions: readonly string[]): Promise<Indexes> {
  const actors = new RedisActors(url);
  const connection = new RedisConnection(url, 'commands');
  try {
    const client = actors.client();
    const byFunction = new Map<string, FunctionIndexes>();
    for (const fn of functions) byFunction.set(fn, await indexesOf(redis, client, fn));
    const { findings } = await diagnose(connection, { keysOf, slowScript: NEVER_SLOW });
    return {
      functions: await redis.zrange('functions', '0', '-1'),
      byFunction,
      overview: await client.overview(),
      findings: findings.map(({ code, fn, title }) => ({ code, title, ...(fn !== undefined && { fn }) })),
    };
  } finally {
    connection.close();
    actors.close();
  }
}

async function indexesOf(redis: Redis, client: GearMonkeyClient, fn: string): Promise<FunctionIndexes> {
  const entries = async (key: string): Promise<Entries> => {
    const words = await redis.zrange(key, '0', '-1', 'WITHSCORES');
    return words.flatMap((id, i) => (i % 2 === 0 ? [[id, Number(words[i + 1])] as const] : []));
  };
  const k = keysOf(fn);
  const [succeeded, failed, cancelled] = await Promise.all(
    ENDED_STATES.map((state) => entries(k.ended + ENDED_LISTS[state])),
  );
  const listed = await Promise.all(
    JOB_STATES.map(async (state) => [state, await listedOf(client, fn, state)] as const),
  );
  return {
    ended: { succeeded: succeeded ?? [], failed: failed ?? [], cancelled: cancelled ?? [] },
    retrying: await entries(k.retrying),
    queued: await queuedIds(redis, fn),
    listed: Object.fromEntries(listed) as Record<JobState, Listed>,
    tagged: await idsOf((page) => client.find(fn, { tag: TAG, size: PAGE, ...page })),
  };
}

async function queuedIds(redis: Redis, fn: string): Promise<string[]> {
  const k = keysOf(fn);
  const lists = await Promise.all([k.high, k.normal, k.low].map((key) => redis.lrange(key, 0, -1)));
  const leases = await redis.zrange(k.leases, '0', '-1');
  const running = leases.map((member) => member.replace(/:\d+$/, ''));
  return [...lists.flat(), ...(await redis.zrange(k.scheduled, '0', '-1')), ...running];
}

async function listedOf(client: GearMonkeyClient, fn: string, state: JobState): Promise<Listed> {
  const pages = (order: 'newest' | 'oldest') =>
    idsOf((page) => client.list(fn, { state, order, size: PAGE, ...page }));
  const { total } = await client.list(fn, { state, size: 1 });
  return { newest: await pages('newest'), oldest: await pages('oldest'), total };
}

/** All pages together. */
async function idsOf(
  read: (page: { page?: string }) => Promise<{ jobs: readonly { id: string }[]; next?: string | undefined }>,
): Promise<string[]> {
  const ids: string[] = [];
  for (let page: string | undefined = ''; page !== undefined;) {
    const list = await read(page === '' ? {} : { page });
    ids.push(...list.jobs.map(({ id }) => id));
    page = list.next;
  }
  return ids;
}

/** What statistics say of the last day, when all workers have stopped. */
export async function readStatistics(
  url: string,
  functions: readonly string[],
): Promise<StatisticsSeen['counted']> {
  const actors = new RedisActors(url);
  try {
    const client = actors.client();
    const counted = functions.map(async (fn) => {
      const days = await client.statistics(fn, { by: 'day' });
      const sum = (name: 'done' | 'failed') => days.reduce((all, day) => all + day[name], 0);
      return [fn, { done: sum('done'), failed: sum('failed') }] as const;
    });
    return new Map(await Promise.all(counted));
  } finally {
    actors.close();
  }
}
