import type { Cluster, Redis } from 'ioredis';
import type { Placement } from '../../core/client/job-store.js';
import { rulesText } from './limit-rules.js';
import { limitedJobsIn } from './placed-limit.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import * as limitScripts from './limit-scripts.js';
import type { LimitRules } from '../../../job/limit.js';

const PRIORITIES = ['high', 'normal', 'low'] as const;

/** Where a limit counts, and its rate. */
interface OpenLimit {
  readonly space: string;
  readonly max: number;
  readonly per: number;
}

interface Due {
  readonly id: string;
  readonly due: number;
}

interface Place {
  readonly priority: (typeof PRIORITIES)[number];
  readonly next: string | undefined;
}

/** A test's shared limits have names of their own, as its functions have. */
export function ownLimit(prefix: string, rules: LimitRules): LimitRules {
  return rules.shared === undefined ? rules : { ...rules, shared: prefix + rules.shared };
}

export function withOwnLimit(prefix: string, placement: Placement): Placement {
  const limited = limitedJobsIn(placement);
  const first = limited?.each[0];
  if (!limited || !first) return placement;
  const limit = { ...first.limit, rules: ownLimit(prefix, first.limit.rules) };
  return { ...placement, feature: { ...limited, each: limited.each.map(({ key }) => ({ limit, key })) } };
}

/** Jobs of a function of a test that have a key: which wait, and which one is claimed next. */
export class LimitedJobs {
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly fn: string,
    private readonly keys: FunctionKeys,
  ) {}

  async declare(rules: LimitRules): Promise<void> {
    const { control, limits, wake } = this.keys;
    const texts = rulesText(this.fn, rules, this.keys);
    await limitScripts.setLimit.run(this.redis, [control, limits, wake], 'limit', ...texts);
  }

  /** In the order in which they run, with the ms since 1970 when each may, 0 for now. One whose key starts none for a time is due then. */
  async waiting(now: number): Promise<Due[]> {
    const limit = await this.open();
    if (!limit) return [];
    const due = await this.later();
    const found: Due[] = [];
    for (const [id, { key, at }] of due)
      found.push({ id, due: Math.max(at, await this.blockedUntil(limit, key, id, due)) });
    found.sort((one, other) => one.due - other.due || Number(one.id) - Number(other.id));
    for (const priority of PRIORITIES)
      for (const [key, id] of inTurn(await this.lines(limit, priority))) {
        const time = await this.blockedUntil(limit, key, id, due);
        found.push({ id, due: time > now ? time : 0 });
      }
    return found;
  }

  /** The key of a job that waits in its line; undefined for other jobs. */
  async keyOf(id: string): Promise<string | undefined> {
    return (await this.redis.hget(this.keys.jobs + id, 'key')) ?? undefined;
  }

  /** Makes this job the next one of all keys. Returns a function that undoes what is left of this. */
  async putFirst(id: string, key: string): Promise<(isTaken: boolean) => Promise<void>> {
    const { limits, jobs } = this.keys;
    const queue = await this.redis.hget(jobs + id, 'queue');
    const { priority, next } = await this.placeOf(id, key, queue);
    await this.remove(id, key);
    await this.redis.rpush(`${limits}wait:high:${key}`, id);
    await this.redis.zadd(`${limits}ready:high`, -1, key);
    return async (isTaken) => {
      const list = `${limits}wait:${priority}:${key}`;
      if (!isTaken) {
        await this.redis.lrem(`${limits}wait:high:${key}`, 0, id);
        if (next === undefined) await this.redis.rpush(list, id);
        else await this.redis.linsert(list, 'BEFORE', next, id);
      } else if (queue === null && priority !== 'high') await this.redis.hdel(jobs + id, 'queue');
      else await this.redis.hset(jobs + id, 'queue', queue ?? priority);
      await this.serve(priority, key);
    };
  }

  /** Removes a waiting job. */
  async remove(id: string, key: string): Promise<void> {
    const { limits } = this.keys;
    await this.redis.zrem(`${limits}due`, `${id}:${key}`);
    await this.redis.srem(`${limits}later:${key}`, id);
    for (const priority of PRIORITIES) await this.redis.lrem(`${limits}wait:${priority}:${key}`, 0, id);
  }

  /** The priority of a waiting job, and the one that runs before it. One that waited for a time comes first. */
  private async placeOf(id: string, key: string, queue: string | null): Promise<Place> {
    for (const priority of PRIORITIES) {
      const ids = await this.redis.lrange(`${this.keys.limits}wait:${priority}:${key}`, '0', '-1');
      const index = ids.indexOf(id);
      if (index >= 0) return { priority, next: ids[index + 1] };
    }
    return { priority: PRIORITIES.find((priority) => priority === queue) ?? 'normal', next: undefined };
  }

  /** Lets the other keys of the priority come first. */
  private async serve(priority: string, key: string): Promise<void> {
    const ring = `${this.keys.limits}ready:${priority}`;
    const [, last = '0'] = await this.redis.zrevrange(ring, '0', '0', 'WITHSCORES');
    await this.redis.zadd(ring, 'XX', Number(last) + 1, key);
  }

  private async open(): Promise<OpenLimit | undefined> {
    const { control, limits } = this.keys;
    const [rules, own] = await this.redis.hmget(control, 'limit', 'override');
    if (!rules) return undefined;
    const shared = /^\d*:\d*:\d*:\w+:(.+)$/.exec(rules)?.[1];
    const space = shared === undefined ? limits : `shared-limit:${shared}:`;
    const [given, override] =
      shared === undefined ? [rules, own] : await this.redis.hmget(`${space}rules`, 'limit', 'override');
    const [, max, per] = (override ?? given ?? '').split(':').map(Number);
    return { space, max: max ?? 0, per: per ?? 0 };
  }

  /** Scheduled and retrying jobs, by id. */
  private async later(): Promise<Map<string, { key: string; at: number }>> {
    const entries = await this.redis.zrange(`${this.keys.limits}due`, '0', '-1', 'WITHSCORES');
    const found = new Map<string, { key: string; at: number }>();
    for (let i = 0; i < entries.length; i += 2) {
      const [, id = '', key = ''] = /^(\d+):(.*)$/s.exec(entries[i] ?? '') ?? [];
      found.set(id, { key, at: Number(entries[i + 1]) });
    }
    return found;
  }

  /** The jobs of each key in the order of the keys' turns. */
  private async lines({ space }: OpenLimit, priority: string): Promise<[key: string, ids: string[]][]> {
    const { limits } = this.keys;
    const ready = await this.redis.zrange(`${limits}ready:${priority}`, '0', '-1');
    const parked = await this.redis.zrange(`${space}parked`, '0', '-1');
    const keys = [...new Set([...ready, ...parked])];
    // Workers pop from the end of a list.
    return Promise.all(
      keys.map(async (key) => [
        key,
        (await this.redis.lrange(`${limits}wait:${priority}:${key}`, '0', '-1')).toReversed(),
      ]),
    );
  }

  /** Until when the job can't start for a reason that passes with time. */
  private async blockedUntil(
    { space, max, per }: OpenLimit,
    key: string,
    id: string,
    due: ReadonlyMap<string, { readonly at: number }>,
  ): Promise<number> {
    const held = Number((await this.redis.zscore(`${space}holds`, key)) ?? 0);
    const start = max > 0 ? await this.redis.lindex(`${space}starts:${key}`, -max) : null;
    const holder = await this.redis.hget(`${this.keys.limits}holders`, key);
    const isHeld = holder !== null && holder !== id;
    return Math.max(held, start === null ? 0 : Number(start) + per + 1, (isHeld && due.get(holder)?.at) || 0);
  }
}

/** The first job of each key, then the second of each. */
function* inTurn(lines: readonly (readonly [string, readonly string[]])[]): Generator<[string, string]> {
  const longest = Math.max(0, ...lines.map(([, ids]) => ids.length));
  for (let place = 0; place < longest; place++)
    for (const [key, ids] of lines) {
      const id = ids[place];
      if (id !== undefined) yield [key, id];
    }
}
