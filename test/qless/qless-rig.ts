import { beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { legacyScript, unifiedScript } from '../../lib/qless/wire/assemble.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

type Arg = string | number;
/** A channel and a message. */
export type Event = readonly [channel: string, message: string];

/** A job's JSON, as any client reads it. */
export interface Job {
  readonly jid: string;
  readonly [field: string]: unknown;
}

export interface Qless {
  readonly redis: Redis;
  /** The command-first form. */
  readonly script: string;
  /** The command-first form: `EVALSHA sha 0 command now args…`. */
  q(command: string, now: Arg, ...args: readonly Arg[]): Promise<unknown>;
  /** The same, and the JSON of its reply. */
  json<T = Job>(command: string, now: Arg, ...args: readonly Arg[]): Promise<T>;
  /** A script of the first generation. */
  legacy(name: string, keys: readonly Arg[], ...args: readonly Arg[]): Promise<unknown>;
  job(jid: string): Promise<Job>;
  /** Puts jobs of klass `k` into `q` at time 0, with data {} and no delay. */
  put(jid: string, ...options: readonly Arg[]): Promise<unknown>;
  /** Pops from `q` for worker `w`; the jids. */
  pop(now: number, count?: number, worker?: string): Promise<string[]>;
  /** What was published meanwhile, in order. */
  events(action: () => Promise<unknown>): Promise<Event[]>;
}

const UNIFIED = unifiedScript();
const texts = new Map<string, string>();

async function evaluate(redis: Redis, script: string, keys: readonly Arg[], args: readonly Arg[]) {
  const sha = createHash('sha1').update(script).digest('hex');
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return redis.eval(script, keys.length, ...keys, ...args);
  }
}

/** For a `describe`: a private server, empty before each test. */
export function useQless(): Qless {
  const server = useRedis();
  beforeEach(() => server.redis.flushall());

  const q: Qless['q'] = (command, now, ...args) =>
    evaluate(server.redis, UNIFIED, [], [command, now, ...args]);
  const json = async <T>(command: string, now: Arg, ...args: readonly Arg[]) =>
    JSON.parse(String(await q(command, now, ...args))) as T;
  return {
    get redis() {
      return server.redis;
    },
    script: UNIFIED,
    q,
    json,
    legacy: (name, keys, ...args) => {
      const script = texts.get(name) ?? legacyScript(name);
      texts.set(name, script);
      return evaluate(server.redis, script, keys, args);
    },
    job: (jid) => json('get', 0, jid),
    put: (jid, ...options) => q('put', 0, 'p', 'q', jid, 'k', '{}', 0, ...options),
    pop: async (now, count = 10, worker = 'w') => jidsOf(await json('pop', now, 'q', worker, count)),
    events: (action) => eventsDuring(server.redis, action),
  };
}

/** The jids of a reply with jobs; an empty list is {}. */
export function jidsOf(jobs: unknown): string[] {
  return Array.isArray(jobs) ? (jobs as Job[]).map(({ jid }) => jid) : [];
}

async function eventsDuring(redis: Redis, action: () => Promise<unknown>): Promise<Event[]> {
  const subscriber = redis.duplicate();
  const seen: Event[] = [];
  const isEnd = ([channel]: Event) => channel === 'end of the action';
  subscriber.on('pmessage', (_, channel: string, message: string) => seen.push([channel, message]));
  try {
    await subscriber.psubscribe('*');
    await action();
    await redis.publish('end of the action', '');
    await until(() => seen.some(isEnd));
    return seen.filter((event) => !isEnd(event));
  } finally {
    subscriber.disconnect();
  }
}

/** A row: the command with its arguments, and what the error says. */
export type Malformed = readonly [args: readonly Arg[], message: string];

/** All keys with their values. */
export async function snapshot(redis: Redis): Promise<unknown> {
  const keys = (await redis.keys('*')).sort();
  return Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)]));
}

/** Each row is refused with that message, and changes nothing, on an empty server and beside a job. */
export function refuses(qless: Qless, rows: readonly Malformed[]): void {
  describe('refuses, writing nothing,', () => {
    it.each(rows)('%j: %s', async ([command = '', now, ...args], message) => {
      for (const state of ['empty', 'waiting', 'running']) {
        if (state === 'waiting') await qless.put('there', 'tags', '["t"]');
        if (state === 'running') await qless.pop(1);
        const before = await snapshot(qless.redis);
        const rest = now === undefined ? [] : [now, ...args];
        await expect(evaluate(qless.redis, UNIFIED, [], [command, ...rest])).rejects.toThrow(message);
        expect(await snapshot(qless.redis)).toEqual(before);
      }
    });
  });
}

/** The same for a script of the first generation: keys, then arguments. */
export type LegacyMalformed = readonly [keys: readonly Arg[], args: readonly Arg[], message: string];

export function legacyRefuses(qless: Qless, name: string, rows: readonly LegacyMalformed[]): void {
  describe(`${name}.lua refuses, writing nothing,`, () => {
    it.each(rows)('%j %j: %s', async (keys, args, message) => {
      await qless.put('there');
      const before = await snapshot(qless.redis);
      await expect(qless.legacy(name, keys, ...args)).rejects.toThrow(message);
      expect(await snapshot(qless.redis)).toEqual(before);
    });
  });
}
