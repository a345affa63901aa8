import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { EmbeddedConnection } from '../../lib/embedded/open-embedded.js';
import { systemClock } from '../../lib/job/clock.js';
import { useRedis } from '../support/use-redis.js';
import type { Redis } from 'ioredis';

/** Programs of what our scripts use, and of its edges. */
const PROGRAMS = [
  "return string.format('%d|%d|%5d|%-5d|%05d', 3, -0, 42, 42, 42)",
  "return string.format('%.1f|%.1f|%.1f|%.0f|%.0f|%.0f', 2.25, 0.15, -0.25, 0.5, 1.5, 2.5)",
  "return string.format('%.2f|%.3f|%.14g|%.17g|%s', 1.005, 2 / 3, 0.1, 0.1, 1e15)",
  "return string.format('%s %s %.3s', 12, 1.5, 'abcdef')",
  "return {string.byte('abc'), string.byte('abc', 2), string.byte('abc', 9) or 'none', string.byte('abc', -1)}",
  "return {string.byte('abc', 1, 3)}",
  "return {string.sub('hello', 2, 3), string.sub('hello', -3), string.sub('hello', 0), string.sub('hello', 4, 2)}",
  "return {string.match('7:12:x', '^(%d+):(%d*):(.*)$')}",
  "return {string.match('no', '^%d+$') or 'none', string.match('key', '%w+'), string.match('a b', '%s')}",
  "return {string.find('a.b', '.', 1, true), string.find('abc', 'c', 2) or 0, string.find('abc', 'x') or 0}",
  "return {string.gsub('a,b,c', ',', ';', 1)}",
  "return {string.gsub('abc', '%w', '<%0>')}",
  "local all = {} for one in string.gmatch('a=1,b=2', '(%w)=') do all[#all + 1] = one end return all",
  "local all = {} for k, v in string.gmatch('a=1,b=2', '(%w)=(%w)') do all[#all + 1] = k .. v end return all",
  'return {tonumber("0x10"), tonumber("1e3"), tonumber(" 5 "), tonumber("5x") or "none", tonumber("") or "none"}',
  'return {tonumber("ff", 16), tonumber("z", 36), tonumber("9", 8) or "none"}',
  'return {tostring(1e15), tostring(2^53), tostring(-0.5), tostring(1/3), tostring(nil), tostring(true)}',
  'return {math.floor(-1.5), math.ceil(-1.5), math.max(1, 3, 2), math.min(1, 3), math.fmod(7, 3), -7 % 3}',
  "return {1 == 1.0, '1' == 1, 'a' < 'b', 'a' < 'B', not nil, 10 == '10'}",
  "return {'10' + 5, 10 .. '', 2 ^ 10, 7 / 2}",
  'local t = {1, 2, 3} table.remove(t, 1) table.insert(t, 1, 9) table.insert(t, 4) return t',
  "local t = {3, 1, 2} table.sort(t) return table.concat(t, ',')",
  "local t = {'b', 'a', 'c'} table.sort(t, function(x, y) return x > y end) return t",
  "local t = {1, nil, 3} return {#t > 0, select('#', 1, nil, 3)}",
  "return {select(2, 'a', 'b', 'c')}",
  'return {unpack({1, 2, 3}, 2)}',
  "local ok, e = pcall(function() error({err = 'ERR of mine'}) end) return e",
  "local ok, e = pcall(function() error('text', 0) end) return {ok, e}",
  "local e = redis.pcall('INCRBY', KEYS[1], 'x') return e.err",
  "return {err = 'MINE with a text'}",
  "return redis.error_reply('MINE as a reply')",
  "return {ok = 'STATUS'}",
  'return {1.9, -1.9, true, false, 5}',
  "return cjson.encode({1, 2, 'x', true})",
  "return cjson.encode('a\"b\\\\c/d\\n\\t' .. string.char(1, 127, 200))",
  'return cjson.encode({})',
  'return {cjson.encode(1.5), cjson.encode(1e20), cjson.encode(12345678901234), cjson.encode(0.1)}',
  'local v = cjson.decode(\'{"a":[1,null,"x"],"b":{"c":true}}\') return {v.a[1], v.a[2] == cjson.null, v.a[3], v.b.c}',
  "return pcall(cjson.decode, '{') and 'yes' or 'no'",
  'local n = 0 for i = 10, 1, -3 do n = n + i end return n',
  'local n = 0 for i = 1, 0 do n = n + 1 end return n',
  'local n = 0 repeat n = n + 1 local done = n >= 3 until done return n',
  'local n = 0 while true do n = n + 1 if n > 4 then break end end return n',
  'local function f(...) return ... end local a, b, c = f(1, 2) return {a, b, c == nil}',
  "local function f(...) return select('#', ...), ... end return {f('x', 'y')}",
  'local t = {} t.x, t.y = 1, 2 t.x, t.y = t.y, t.x return {t.x, t.y}',
  'local fns = {} for i = 1, 3 do fns[i] = function() return i end end return {fns[1](), fns[2](), fns[3]()}',
  'local keys = {} for k in pairs({a = 1}) do keys[#keys + 1] = k end return keys',
  "return {false and 1 or 2, nil or 'x', 0 and 'zero', '' and 'empty'}",
  "return #'\u00e9'",
  "return {redis.call('SET', KEYS[1], 1.5), redis.call('GET', KEYS[1])}",
  "redis.call('ZADD', KEYS[1], 0.1, 'a', 1e15, 'b', 1.5, 'c') return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')",
  "return redis.call('GET', KEYS[1])",
  "return {redis.call('GET', KEYS[1]) == false, redis.call('HMGET', KEYS[1], 'a', 'b')}",
  "return redis.call('HINCRBY', KEYS[1], 'n', '5') + redis.call('HINCRBY', KEYS[1], 'n', -2)",
  "redis.call('SET', KEYS[1], 'x', 'PX', 1000) return redis.call('PTTL', KEYS[1]) > 900",
  "return {redis.call('EXPIRE', KEYS[1], 5), redis.call('TTL', KEYS[1])}",
  "redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])",
  'local t = {} t[1], t[3] = 1, 3 return t',
  'return {1, nil, 3}',
  "redis.call('SET', KEYS[1], 1, 'PX', 5000) redis.call('INCR', KEYS[1]) return redis.call('PTTL', KEYS[1]) > 0",
  "return {redis.call('ZADD', KEYS[1], 'XX', 1, 'a'), redis.call('ZCARD', KEYS[1])}",
  "return redis.sha1hex('abc')",
  "redis.call('RPUSH', KEYS[1], 'a', 'b', 'c', 'b') return {redis.call('LREM', KEYS[1], -1, 'b'), redis.call('LRANGE', KEYS[1], 0, -1)}",
  "redis.call('RPUSH', KEYS[1], 'a', 'b', 'c') return {redis.call('LPOS', KEYS[1], 'c'), redis.call('LINDEX', KEYS[1], -1)}",
];

describe('A program of Lua has the same reply on a Redis server and on the embedded one', () => {
  const used = useRedis();
  let embedded: Redis;
  beforeAll(async () => {
    const connection = new EmbeddedConnection(new EmbeddedServer(systemClock), 'test');
    embedded = (await connection.ready()) as Redis;
  });
  afterAll(() => embedded.disconnect());

  const answer = async (redis: Redis, program: string, key: string) => {
    try {
      return { reply: await redis.eval(program, 1, key) };
    } catch (error) {
      // The server adds where in which script it was.
      return { error: (error as Error).message.replace(/ script: .*$/, '') };
    }
  };

  it.each(PROGRAMS)('%s', async (program) => {
    const key = used.fn();
    const theirs = await answer(used.redis, program, key);
    await expect(answer(embedded, program, key)).resolves.toEqual(theirs);
    await used.redis.del(key);
  });

  it('and one that would leave a global variable, or use what there is not, is refused', async () => {
    for (const program of ['x = 1', 'return x', 'return os.time()', 'return string.reverse("x")'])
      await expect(embedded.eval(program, 0)).rejects.toThrow();
  });
});

describe('A program that several embedded servers run', () => {
  it('has the data of the one that runs it', () => {
    const servers = [1, 2].map(() => new EmbeddedServer(systemClock));
    const count = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
    const counts = servers.map((server) => server.run('EVAL', [count, '1', 'n', '5']));
    expect(counts).toEqual([5, 5]);
    expect(servers.map((server) => server.run('GET', ['n']))).toEqual(['5', '5']);
  });

  it('runs behind any number of others', () => {
    const server = new EmbeddedServer(systemClock);
    const texts = Array.from({ length: 500 }, (_, n) => `return ${n}`);
    expect(texts.map((text) => server.run('EVAL', [text, '0']))).toEqual(texts.map((_, n) => n));
    expect(new EmbeddedServer(systemClock).run('EVAL', ['return 0', '0'])).toBe(0);
  });
});
