import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { useRedis } from '../support/use-redis.js';
import { globalsOf } from './lua-globals.js';
import { namesIn } from './lua-names.js';

const LIB = fileURLToPath(new URL('../../lib/', import.meta.url));

const free = (text: string) =>
  namesIn(text)
    .free.map(({ name, line, isAssigned }) => `${name}:${line}${isAssigned ? ' set' : ''}`)
    .sort();
const declared = (text: string) => namesIn(text).declared.map(({ name }) => name);

describe('the names of a Lua text', () => {
  it('are free where no block around them declares them', () => {
    expect(free('local a = b\nif a then\n  local c = a\nend\nreturn c')).toEqual(['b:1', 'c:5']);
    expect(free('do local a = 1 end\na = 2')).toEqual(['a:2 set']);
    expect(free('repeat local a = f() until a')).toEqual(['f:1']);
  });

  it('are known in a local function and its body, but not in the value of a plain local', () => {
    expect(free('local function a() return a() end')).toEqual([]);
    expect(free('local a = function() return a() end')).toEqual(['a:1']);
  });

  it('are parameters, and variables of loops, in their bodies', () => {
    expect(free('local function f(a, ...) return a, ... end\nreturn f(a)')).toEqual(['a:2']);
    expect(free('for i = i, 3 do f(i) end')).toEqual(['f:1', 'i:1']);
    expect(free('for _, v in ipairs(t) do print(v) end')).toEqual(['ipairs:1', 'print:1', 't:1']);
    expect(free('local t = {}\nfunction t.of(a) return a end\nfunction t:go() return self end')).toEqual([]);
  });

  it('are no fields, strings or comments', () => {
    expect(free("local a = { b = 1, [c] = 2 }\nreturn a.d['e'], a:f 'g', [[h]] -- i\n--[[ j\n]]")).toEqual([
      'c:1',
    ]);
  });

  it('are assigned alone, among others, and as global functions, but not by their fields', () => {
    expect(free('a, b.c = 1, 2\nfunction d() end\nfunction e.f() end')).toEqual([
      'a:1 set',
      'b:1',
      'd:2 set',
      'e:3',
    ]);
    expect(declared('local a, b\nlocal function c(d) end')).toEqual(['a', 'b', 'c', 'd']);
  });

  it.each(['local = 1', 'if a then', 'a', "return 'a", 'f(', 'a = $'])(
    'refuses %p, which is no Lua',
    (text) => {
      expect(() => namesIn(text)).toThrow(/^1: /);
    },
  );
});

describe('every Lua file of the package', () => {
  const server = useRedis();
  const files = readdirSync(LIB, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.lua'),
  );

  it.each(files)('has the free names that the server finds in it: %s', async (file) => {
    const text = readFileSync(LIB + file, 'utf8');
    const { read, assigned } = await globalsOf(server.redis, text);
    const { free: names } = namesIn(text);
    const namesThat = (isAssigned: boolean) =>
      new Set(names.filter((name) => name.isAssigned === isAssigned).map(({ name }) => name));
    expect([namesThat(false), namesThat(true)]).toEqual([read, assigned]);
  });
});
