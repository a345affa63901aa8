import type { Cluster, Redis } from 'ioredis';
import type { Payload } from '../../../job/codec.js';
import { DECLARED, newMark, SCHEDULE_INDEX, type KeysOf } from '../../core/wire/protocol.js';
import * as scripts from './schedule-scripts.js';
import type { DueSchedules, StoredFields } from './schedule-scripts.js';
import { compareVersions } from './compare-versions.js';
import type { DeclaringApp } from './spec.js';
import type { FoundSchedules, ScheduleStore, Tick, TickedJob, WrittenSchedule } from './schedule-store.js';

/** Most schedules that one call reads or advances. */
const MAX_DUE = 50;
/** About how many schedules a call reads of all; how many ids of the index. More would hold up the server. */
const PAGE = 100;
const INDEX_PAGE = 1000;

export interface RedisSchedulesOptions {
  readonly keysOf: KeysOf;
  /** Asks the server, and again after a broken connection. `fn` is undefined for the index. */
  readonly ask: <T>(
    fn: string | undefined,
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
  ) => Promise<T>;
  /** Milliseconds since 1970. @default the server's clock */
  readonly now?: (() => number) | undefined;
  /** @default SCHEDULE_INDEX */
  readonly index?: string | undefined;
}

/** Schedules on a Redis server. */
export class RedisSchedules implements ScheduleStore {
  private readonly indexKey: string;

  constructor(private readonly options: RedisSchedulesOptions) {
    this.indexKey = options.index ?? SCHEDULE_INDEX;
  }

  async index(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    let cursor = '0';
    do {
      const from = cursor;
      const [next, pairs] = await this.askIndex((redis) =>
        redis.hscan(this.indexKey, from, 'COUNT', INDEX_PAGE),
      );
      for (let at = 0; at < pairs.length; at += 2) found.set(pairs[at] ?? '', pairs[at + 1] ?? '');
      cursor = next;
    } while (cursor !== '0');
    return found;
  }

  async functionOf(id: string): Promise<string | undefined> {
    return (await this.askIndex((redis) => redis.hmget(this.indexKey, id)))[0] ?? undefined;
  }

  enter(id: string, known: string, fn: string): Promise<string> {
    return this.askIndex((redis) => scripts.enterSchedule.run(redis, [this.indexKey], id, known, fn));
  }

  async announce({ name, version }: DeclaringApp, alone: boolean): Promise<string[]> {
    const key =
      this.options.index === undefined ? DECLARED + name : `${this.options.index}:${DECLARED}${name}`;
    return this.askIndex(async (redis) => {
      await redis.hsetnx(key, version, '1');
      const known = await redis.hkeys(key);
      const isOver = (other: string) => (alone ? other !== version : compareVersions(other, version) < 0);
      const over = known.filter(isOver);
      if (over.length > 0) await redis.hdel(key, ...over);
      return known.filter((other) => !isOver(other));
    });
  }

  read(fn: string, ids: readonly string[]): Promise<FoundSchedules> {
    return this.look(fn, 'named', ids.length, ids);
  }

  async *pages(fn: string): AsyncGenerator<readonly StoredFields[]> {
    const seen = new Set<string>();
    let cursor = '0';
    do {
      const { next, schedules } = await this.look(fn, 'page', PAGE, [cursor]);
      const fresh = schedules.filter(({ id }) => !seen.has(id));
      for (const { id } of fresh) seen.add(id);
      const read = fresh.map(async (found) =>
        found.spec === '' ? ((await this.read(fn, [found.id])).schedules[0] ?? found) : found,
      );
      yield await Promise.all(read);
      cursor = next;
    } while (cursor !== '0');
  }

  write(
    fn: string,
    id: string,
    { version, slot }: { readonly version: string; readonly slot: string },
    written: WrittenSchedule | undefined,
  ): Promise<boolean> {
    const { spec = '', version: next = '', next: tick } = written ?? {};
    return this.ask(fn, 'Writing a schedule', (redis) =>
      scripts.writeSchedule.run(
        redis,
        this.keys(fn),
        id,
        version,
        slot,
        spec,
        next,
        tick?.label ?? '',
        tick?.time ?? '',
      ),
    );
  }

  due(fn: string, passedOver: number): Promise<DueSchedules> {
    return this.ask(fn, 'Reading schedules', (redis) =>
      scripts.due.run(redis, this.keys(fn), this.now(), MAX_DUE, passedOver),
    );
  }

  async tick(fn: string, ticks: readonly Tick[]): Promise<{ wait: number; jobs: readonly TickedJob[] }> {
    const { ids, jobs, scheduled, channel, wake, unique } = this.options.keysOf(fn);
    const mark = newMark();
    const keys = [ids, jobs, scheduled, channel, wake, ...this.keys(fn), unique];
    const ticked = await this.ask(fn, 'Creating recurring jobs', (redis) =>
      scripts.tick.run(redis, keys, this.now(), mark, ticks.flatMap(argumentsOf)),
    );
    return { wait: ticked.wait, jobs: ticked.jobs.map((job) => ({ ...job, mark })) };
  }

  private look(
    fn: string,
    which: 'named' | 'page',
    most: number,
    from: readonly string[],
  ): Promise<scripts.SchedulesPage> {
    return this.ask(fn, 'Reading schedules', (redis) =>
      scripts.schedules.run(redis, this.keys(fn), this.now(), which, most, from),
    );
  }

  private keys(fn: string): [string, string] {
    const { schedules, ticks } = this.options.keysOf(fn);
    return [schedules, ticks];
  }

  private now(): number | '' {
    return this.options.now?.() ?? '';
  }

  private ask<T>(fn: string, verb: string, question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.options.ask(fn, verb, question);
  }

  private askIndex<T>(question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return this.options.ask(undefined, 'Finding schedules', question);
  }
}

function argumentsOf({
  id,
  version,
  slot,
  next,
  limit,
  skipsIfRunning,
  unique,
  input,
  jobs,
}: Tick): Payload[] {
  const ifRunning = skipsIfRunning ? 'skip' : '';
  const nextTime = next === undefined ? '' : String(next.time);
  const created = jobs.flatMap(({ slot: time, due, options }) => [String(time), String(due / 1000), options]);
  const { kind = '', span = '', key = '' } = unique ?? {};
  const rules = [limit === undefined ? '' : String(limit), ifRunning, kind, String(span), key];
  return [id, version, slot, next?.label ?? '', nextTime, ...rules, input, String(jobs.length), ...created];
}
