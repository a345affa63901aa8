import { bound, score, scoreText, span, whole } from './arguments.js';
import { Deque } from './deque.js';
import type { Hash, Keyspace, Stored } from './keyspace.js';
import { OK, ReplyError, Status, type Reply } from './reply.js';
import { SortedSet } from './sorted-set.js';

/** A command: its arguments without its name. @throws ReplyError */
export type Command = (db: Keyspace, args: readonly string[]) => Reply;

const key = (args: readonly string[]): string => args[0] ?? '';

/** Removes a key whose value has become empty. */
function dropEmpty(db: Keyspace, name: string, size: number): void {
  if (size === 0) db.delete(name);
}

// Keys

function del(db: Keyspace, args: readonly string[]): number {
  return args.filter((name) => db.delete(name)).length;
}

function exists(db: Keyspace, args: readonly string[]): number {
  let count = 0;
  for (const name of args) if (db.find(name) !== undefined) count += 1;
  return count;
}

function expireAfter(unit: number): Command {
  return (db, [name = '', span_]) => {
    const time = whole(span_) * unit;
    if (db.find(name) === undefined) return 0;
    db.expire(name, db.now() + time);
    return 1;
  };
}

function timeLeft(unit: number): Command {
  return (db, args) => {
    if (db.find(key(args)) === undefined) return -2;
    const expiry = db.expiry(key(args));
    return expiry === undefined ? -1 : Math.round((expiry - db.now()) / unit);
  };
}

function type(db: Keyspace, args: readonly string[]): Status {
  return new Status(typeName(db.find(key(args))));
}

function typeName(value: Stored | undefined): string {
  if (value === undefined) return 'none';
  if (typeof value === 'string') return 'string';
  if (value instanceof Map) return 'hash';
  if (value instanceof Set) return 'set';
  return value instanceof Deque ? 'list' : 'zset';
}

/** A pattern of KEYS as a regular expression: `*`, `?`, sets and escaped characters. */
function glob(pattern: string): RegExp {
  const source = pattern.replace(
    /\\([\s\S])|\*|\?|\[[^\]]*\]|[.+^${}()|\\]/g,
    (found, escaped: string | undefined) => {
      if (escaped !== undefined) return escaped.replace(/[^\w]/, '\\$&');
      if (found === '*') return '[\\s\\S]*';
      if (found === '?') return '[\\s\\S]';
      return found.startsWith('[') ? found : `\\${found}`;
    },
  );
  return new RegExp(`^${source}$`);
}

/** All at once: a cursor is always 0 at the end. */
function scan(db: Keyspace, [, ...options]: readonly string[]): Reply {
  const match = option(options, 'MATCH');
  const names = db.keys();
  return ['0', match === undefined ? names : names.filter((name) => glob(match).test(name))];
}

function option(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((arg) => arg.toUpperCase() === name);
  return at < 0 ? undefined : args[at + 1];
}

// Texts

function set(db: Keyspace, [name = '', value = '', ...options]: readonly string[]): Reply {
  const known = db.find(name);
  const has = (flag: string) => options.some((one) => one.toUpperCase() === flag);
  const before = has('GET') ? (db.text(name) ?? null) : OK;
  if ((has('NX') && known !== undefined) || (has('XX') && known === undefined))
    return has('GET') ? before : null;
  db.put(name, value);
  const seconds = option(options, 'EX');
  const ms = option(options, 'PX');
  if (seconds !== undefined) db.expire(name, db.now() + span_(seconds) * 1000);
  else if (ms !== undefined) db.expire(name, db.now() + span_(ms));
  else if (!has('KEEPTTL')) db.persist(name);
  return before;
}

function span_(text: string): number {
  const span = whole(text);
  if (span <= 0) throw new ReplyError("ERR invalid expire time in 'set' command");
  return span;
}

function add(by: (arg: string | undefined) => number): Command {
  return (db, [name = '', change]) => {
    const value = whole(db.text(name) ?? '0') + by(change);
    db.put(name, String(value));
    return value;
  };
}

// Hashes

function hset(db: Keyspace, args: readonly string[]): number {
  if (args.length < 3 || args.length % 2 === 0) throw wrongNumber('hset');
  const hash = openHash(db, key(args));
  const before = hash.size;
  for (let i = 1; i < args.length; i += 2) hash.set(args[i] as string, args[i + 1] as string);
  return hash.size - before;
}

function openHash(db: Keyspace, name: string): Hash {
  const found = db.hash(name);
  if (found) return found;
  const made: Hash = new Map();
  db.put(name, made);
  return made;
}

function hsetnx(db: Keyspace, [name = '', field = '', value = '']: readonly string[]): number {
  if (db.hash(name)?.has(field)) return 0;
  openHash(db, name).set(field, value);
  return 1;
}

function hmget(db: Keyspace, args: readonly string[]): Reply[] {
  const hash = db.hash(key(args));
  const values: Reply[] = [];
  for (let i = 1; i < args.length; i++) values.push(hash?.get(args[i] as string) ?? null);
  return values;
}

function hdel(db: Keyspace, [name = '', ...fields]: readonly string[]): number {
  const hash = db.hash(name);
  if (!hash) return 0;
  const removed = fields.filter((field) => hash.delete(field)).length;
  dropEmpty(db, name, hash.size);
  return removed;
}

function hincrby(db: Keyspace, [name = '', field = '', change]: readonly string[]): number {
  const by = whole(change);
  const hash = openHash(db, name);
  const known = hash.get(field) ?? '0';
  if (!/^-?\d{1,19}$/.test(known)) throw new ReplyError('ERR hash value is not an integer');
  const value = Number(known) + by;
  hash.set(field, String(value));
  return value;
}

function hrandfield(db: Keyspace, [name = '', count, withValues]: readonly string[]): Reply {
  const fields = picked([...(db.hash(name) ?? [])], count);
  if (count === undefined) return fields[0]?.[0] ?? null;
  return withValues === undefined ? fields.map(([field]) => field) : fields.flat();
}

/** Some of a list, none twice; of a negative number any may come again. */
function picked<T>(list: T[], count: string | undefined): T[] {
  const wanted = count === undefined ? 1 : whole(count);
  if (wanted < 0)
    return Array.from({ length: list.length === 0 ? 0 : -wanted }, () => list[random(list.length)] as T);
  for (let i = 0; i < Math.min(wanted, list.length - 1); i++) {
    const other = i + random(list.length - i);
    [list[i], list[other]] = [list[other] as T, list[i] as T];
  }
  return list.slice(0, wanted);
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}

function matching(pairs: readonly [string, string][], options: readonly string[]): Reply {
  const match = option(options, 'MATCH');
  const wanted = match === undefined ? pairs : pairs.filter(([name]) => glob(match).test(name));
  return ['0', wanted.flat()];
}

// Lists

function push(end: 'push' | 'unshift', mustExist = false): Command {
  return (db, [name = '', ...items]) => {
    const found = db.list(name);
    if (!found && mustExist) return 0;
    const list = found ?? new Deque();
    if (!found) db.put(name, list);
    for (const item of items) list[end](item);
    db.pushed.add(name);
    return list.length;
  };
}

function pop(end: 'pop' | 'shift'): Command {
  return (db, [name = '', count]) => {
    const list = db.list(name);
    if (!list) return null;
    const items: string[] = [];
    for (let left = count === undefined ? 1 : whole(count); left > 0 && list.length > 0; left--)
      items.push(list[end]() as string);
    dropEmpty(db, name, list.length);
    return count === undefined ? (items[0] ?? null) : items;
  };
}

function lrem(db: Keyspace, [name = '', count, item = '']: readonly string[]): number {
  const wanted = whole(count);
  const list = db.list(name);
  if (!list) return 0;
  const items = list.slice();
  if (wanted < 0) items.reverse();
  let left = wanted === 0 ? Infinity : Math.abs(wanted);
  const kept = items.filter((one) => one !== item || left-- <= 0);
  const removed = items.length - kept.length;
  if (removed === 0) return 0;
  list.replace(wanted < 0 ? kept.reverse() : kept);
  dropEmpty(db, name, list.length);
  return removed;
}

function linsert(db: Keyspace, [name = '', side = '', pivot = '', item = '']: readonly string[]): number {
  const list = db.list(name);
  if (!list) return 0;
  const items = list.slice();
  const at = items.indexOf(pivot);
  if (at < 0) return -1;
  items.splice(side.toUpperCase() === 'BEFORE' ? at : at + 1, 0, item);
  list.replace(items);
  return list.length;
}

function ltrim(db: Keyspace, [name = '', first, last]: readonly string[]): Reply {
  const list = db.list(name);
  if (list) {
    list.replace(list.slice(...span(first, last, list.length)));
    dropEmpty(db, name, list.length);
  }
  return OK;
}

// Sorted sets

const ZADD_FLAGS: ReadonlySet<string> = new Set(['NX', 'XX', 'GT', 'LT', 'CH', 'INCR']);

function zadd(db: Keyspace, [name = '', ...args]: readonly string[]): Reply {
  const flags = new Set<string>();
  let at = 0;
  for (; ZADD_FLAGS.has(args[at]?.toUpperCase() ?? ''); at++) flags.add((args[at] as string).toUpperCase());
  const pairs: [score: number, member: string][] = [];
  if (at === args.length || (args.length - at) % 2 !== 0) throw new ReplyError('ERR syntax error');
  for (; at < args.length; at += 2) pairs.push([score(args[at]), args[at + 1] as string]);
  const sorted = db.sorted(name) ?? new SortedSet();
  let [added, changed] = [0, 0];
  for (const [number, member] of pairs) {
    const known = sorted.score(member);
    if (known === undefined ? flags.has('XX') : flags.has('NX')) continue;
    if (known !== undefined && ((flags.has('GT') && number <= known) || (flags.has('LT') && number >= known)))
      continue;
    if (known === undefined) added += 1;
    if (known !== number) changed += 1;
    sorted.set(member, number);
  }
  if (sorted.size > 0) db.put(name, sorted);
  return flags.has('CH') ? changed : added;
}

function zrem(db: Keyspace, args: readonly string[]): number {
  const sorted = db.sorted(key(args));
  if (!sorted) return 0;
  let removed = 0;
  for (let i = 1; i < args.length; i++) if (sorted.delete(args[i] as string)) removed += 1;
  dropEmpty(db, key(args), sorted.size);
  return removed;
}

function entriesOf(entries: readonly { member: string; score: number }[], withScores: boolean): string[] {
  const list: string[] = [];
  for (const entry of entries) {
    list.push(entry.member);
    if (withScores) list.push(scoreText(entry.score));
  }
  return list;
}

function hasFlag(options: readonly string[], flag: string): boolean {
  return options.some((one) => one.toUpperCase() === flag);
}

function zrange(isReverse: boolean): Command {
  return (db, [name = '', first, last, ...options]) => {
    const sorted = db.sorted(name);
    const size = sorted?.size ?? 0;
    const [start, end] = span(first, last, size);
    if (!sorted) return [];
    const entries = isReverse
      ? sorted.slice(size - end, size - start).toReversed()
      : sorted.slice(start, end);
    return entriesOf(entries, hasFlag(options, 'WITHSCORES'));
  };
}

function zrangebyscore(isReverse: boolean): Command {
  return (db, [name = '', first, last, ...options]) => {
    const [low, high] = isReverse ? [bound(last), bound(first)] : [bound(first), bound(last)];
    const sorted = db.sorted(name);
    if (!sorted) return [];
    const [start, end] = [sorted.from(low), sorted.to(high)];
    return entriesOf(range(sorted, start, end, isReverse, options), hasFlag(options, 'WITHSCORES'));
  };
}

/** Entries from `start` to `end` as LIMIT says. */
function range(
  sorted: SortedSet,
  start: number,
  end: number,
  isReverse: boolean,
  options: readonly string[],
): readonly { member: string; score: number }[] {
  const at = options.findIndex((one) => one.toUpperCase() === 'LIMIT');
  const offset = at < 0 ? 0 : whole(options[at + 1]);
  const most = at < 0 ? -1 : whole(options[at + 2]);
  const count = most < 0 ? Infinity : most;
  if (!isReverse) return sorted.slice(start + offset, Math.max(start, Math.min(end, start + offset + count)));
  const last = Math.max(start, end - offset);
  return sorted.slice(Math.max(start, last - count), last).toReversed();
}

/** The part of a sorted set between two members, with the marks of the protocol: `[`, `(`, `-` and `+`. */
function lexSpan(sorted: SortedSet, first: string, last: string): [start: number, end: number] {
  const place = (text: string, isEnd: boolean): number => {
    if (text === '-') return 0;
    if (text === '+') return sorted.size;
    if (text[0] !== '[' && text[0] !== '(')
      throw new ReplyError('ERR min or max not valid string range item');
    return sorted.fromMember(text.slice(1), (text[0] === '[') === isEnd);
  };
  return [place(first, false), place(last, true)];
}

function zrangebylex(isReverse: boolean): Command {
  return (db, [name = '', first = '', last = '', ...options]) => {
    const sorted = db.sorted(name);
    if (!sorted) return [];
    const [start, end] = isReverse ? lexSpan(sorted, last, first) : lexSpan(sorted, first, last);
    return entriesOf(range(sorted, start, end, isReverse, options), false);
  };
}

function zcount(db: Keyspace, [name = '', first, last]: readonly string[]): number {
  const [low, high] = [bound(first), bound(last)];
  const sorted = db.sorted(name);
  return sorted ? Math.max(0, sorted.to(high) - sorted.from(low)) : 0;
}

function zremrangebyscore(db: Keyspace, [name = '', first, last]: readonly string[]): number {
  const [low, high] = [bound(first), bound(last)];
  const sorted = db.sorted(name);
  if (!sorted) return 0;
  const removed = sorted.remove(sorted.from(low), sorted.to(high));
  dropEmpty(db, name, sorted.size);
  return removed;
}

function zscore(db: Keyspace, [name = '', member = '']: readonly string[]): Reply {
  const number = db.sorted(name)?.score(member);
  return number === undefined ? null : scoreText(number);
}

// Sets

function sadd(db: Keyspace, [name = '', ...members]: readonly string[]): number {
  const found = db.set(name);
  const set = found ?? new Set<string>();
  if (!found) db.put(name, set);
  const before = set.size;
  for (const member of members) set.add(member);
  return set.size - before;
}

function srem(db: Keyspace, [name = '', ...members]: readonly string[]): number {
  const set = db.set(name);
  if (!set) return 0;
  const removed = members.filter((member) => set.delete(member)).length;
  dropEmpty(db, name, set.size);
  return removed;
}

function wrongNumber(name: string): ReplyError {
  return new ReplyError(`ERR wrong number of arguments for '${name}' command`);
}

/** The commands that scripts and this package's own code send. PUBLISH and those that block belong to the server. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  DEL: del,
  UNLINK: del,
  EXISTS: exists,
  EXPIRE: expireAfter(1000),
  PEXPIRE: expireAfter(1),
  TTL: timeLeft(1000),
  PTTL: timeLeft(1),
  PERSIST: (db, args) => (db.find(key(args)) !== undefined && db.persist(key(args)) ? 1 : 0),
  TYPE: type,
  KEYS: (db, args) => db.keys().filter((name) => glob(key(args)).test(name)),
  SCAN: scan,
  TIME: (db) => [String(Math.floor(db.now() / 1000)), String(Math.floor((db.now() % 1000) * 1000))],
  FLUSHALL: (db) => {
    db.clear();
    return OK;
  },
  PING: () => new Status('PONG'),
  WAIT: () => 0,

  GET: (db, args) => db.text(key(args)) ?? null,
  SET: set,
  MGET: (db, args) =>
    args.map((name) => {
      const value = db.find(name);
      return typeof value === 'string' ? value : null;
    }),
  INCR: add(() => 1),
  INCRBY: add(whole),
  DECR: add(() => -1),
  DECRBY: add((change) => -whole(change)),

  HSET: hset,
  HMSET: (db, args) => {
    hset(db, args);
    return OK;
  },
  HSETNX: hsetnx,
  HGET: (db, [name = '', field = '']) => db.hash(name)?.get(field) ?? null,
  HMGET: hmget,
  HGETALL: (db, args) => [...(db.hash(key(args)) ?? [])].flat(),
  HKEYS: (db, args) => [...(db.hash(key(args))?.keys() ?? [])],
  HDEL: hdel,
  HLEN: (db, args) => db.hash(key(args))?.size ?? 0,
  HSTRLEN: (db, [name = '', field = '']) => db.hash(name)?.get(field)?.length ?? 0,
  HEXISTS: (db, [name = '', field = '']) => (db.hash(name)?.has(field) ? 1 : 0),
  HINCRBY: hincrby,
  HRANDFIELD: hrandfield,
  HSCAN: (db, [name = '', , ...options]) => matching([...(db.hash(name) ?? [])], options),

  LPUSH: push('unshift'),
  RPUSH: push('push'),
  LPUSHX: push('unshift', true),
  LPOP: pop('shift'),
  RPOP: pop('pop'),
  LLEN: (db, args) => db.list(key(args))?.length ?? 0,
  LINDEX: (db, [name = '', index]) => {
    const list = db.list(name);
    const at = whole(index);
    return list?.at(at < 0 ? list.length + at : at) ?? null;
  },
  LRANGE: (db, [name = '', first, last]) => {
    const list = db.list(name);
    return list ? list.slice(...span(first, last, list.length)) : [];
  },
  LREM: lrem,
  LTRIM: ltrim,
  LINSERT: linsert,
  LPOS: (db, [name = '', item = '']) => {
    const at = db.list(name)?.slice().indexOf(item) ?? -1;
    return at < 0 ? null : at;
  },

  SADD: sadd,
  SREM: srem,
  SCARD: (db, args) => db.set(key(args))?.size ?? 0,
  SISMEMBER: (db, [name = '', member = '']) => (db.set(name)?.has(member) ? 1 : 0),
  SMEMBERS: (db, args) => [...(db.set(key(args)) ?? [])],
  SRANDMEMBER: (db, [name = '', count]) => {
    const members = picked([...(db.set(name) ?? [])], count);
    return count === undefined ? (members[0] ?? null) : members;
  },

  ZADD: zadd,
  ZREM: zrem,
  ZCARD: (db, args) => db.sorted(key(args))?.size ?? 0,
  ZSCORE: zscore,
  ZCOUNT: zcount,
  ZRANGE: zrange(false),
  ZREVRANGE: zrange(true),
  ZRANGEBYSCORE: zrangebyscore(false),
  ZREVRANGEBYSCORE: zrangebyscore(true),
  ZRANGEBYLEX: zrangebylex(false),
  ZREVRANGEBYLEX: zrangebylex(true),
  ZLEXCOUNT: (db, [name = '', first = '', last = '']) => {
    const sorted = db.sorted(name);
    if (!sorted) return 0;
    const [start, end] = lexSpan(sorted, first, last);
    return Math.max(0, end - start);
  },
  ZREMRANGEBYSCORE: zremrangebyscore,
  ZRANDMEMBER: (db, [name = '', count]) => {
    const members = picked([...(db.sorted(name)?.all() ?? [])], count).map(({ member }) => member);
    return count === undefined ? (members[0] ?? null) : members;
  },
  ZSCAN: (db, [name = '', , ...options]) =>
    matching(
      (db.sorted(name)?.all() ?? []).map((entry): [string, string] => [entry.member, scoreText(entry.score)]),
      options,
    ),
};
