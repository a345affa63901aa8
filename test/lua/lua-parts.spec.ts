import { describe, expect, it } from '@jest/globals';
import { LUA as GEARMONKEY } from '../../lib/gearmonkey/core/wire/lua.embedded.js';
import { LUA as IMPORT } from '../../lib/import/lua.embedded.js';
import { LUA as JQ } from '../../lib/jq/engine/lua.embedded.js';
import { LUA as RIGHTS } from '../../lib/redis/lua.embedded.js';
import { scriptsIn } from '../../lib/redis/script.js';
import { problemsOfParts, problemsOfScript } from './lua-parts.js';

const script = (texts: Readonly<Record<string, string>>, name: string) =>
  scriptsIn(texts)(name, (reply) => reply).text;

describe('the check of files of Lua', () => {
  const count = '-- Gives count\n\nlocal function count(text) return tonumber(text) end';
  const uses = '-- include count: count\n\nreturn count(ARGV[1])';

  it('accepts names that a file needs, and another gives', () => {
    expect(problemsOfParts({ count, uses })).toEqual([]);
  });

  it('names file and line of a name that comes from nowhere', () => {
    expect(problemsOfParts({ uses: 'local a = 1\nreturn count(a)' })).toEqual([
      'uses:2: count is neither needed at the head nor defined',
    ]);
    expect(problemsOfParts({ count, uses, other: 'return count(ARGV[1])' })).toEqual([
      'other:1: count is neither needed at the head nor defined',
    ]);
  });

  it('finds a need that the other file does not give, or that this one does not use', () => {
    expect(problemsOfParts({ count: 'local function count() end\nreturn count', uses })).toEqual([
      'uses:1: count does not give count',
    ]);
    expect(problemsOfParts({ count, uses, other: '-- include count: count\n-- count\nreturn 1' })).toEqual([
      'other:1: count of count is not used',
    ]);
  });

  it('finds a name that is given and that no file needs, or that is not there', () => {
    expect(problemsOfParts({ count })).toEqual(['count: gives count, which no file needs']);
    expect(problemsOfParts({ count: '-- Gives count\n', uses })).toEqual([
      'count: does not define count, which it gives',
    ]);
  });

  it('finds a name that a file defines, and neither uses nor gives', () => {
    expect(problemsOfParts({ uses: 'local a, b = 1, 2\nreturn a' })).toEqual([
      'uses:1: b is neither used nor given',
    ]);
  });

  it('finds an assignment to a name of another file', () => {
    expect(problemsOfParts({ count, uses: uses.replace('return', 'count =') })).toEqual([
      'uses:3: count is assigned, and belongs to another file',
    ]);
    expect(problemsOfParts({ uses: 'local function a()\n  b = 1\nend\nreturn a()' })).toEqual([
      'uses:2: b is assigned, and belongs to another file',
    ]);
  });

  it('wants includes at the head, unless they say why not', () => {
    const late = (include: string) => ({
      count,
      uses: `if ARGV[1] then\n  ${include}\n  return count('')\nend`,
    });
    expect(problemsOfParts(late('-- include count: count'))).toEqual([
      'uses:2: an include is at the head, or says behind -- what it would cost there',
    ]);
    expect(problemsOfParts(late('-- include count: count -- at the head +2 %'))).toEqual([]);
  });

  it('reads lists over several lines', () => {
    const parts = {
      a: '-- Gives b,\n--   c\n\nlocal b, c',
      list: '-- Needs a: b,\n--   c\n-- include a\nreturn b, c',
    };
    expect(problemsOfParts(parts, 'list')).toEqual([]);
  });

  it('finds in a whole script names that a block does not see, and those of two files', () => {
    const inner = 'if ARGV[1] then\n  -- include count: count -- at the head +2 %\nend\nreturn count(1)';
    expect(problemsOfScript(script({ count, inner }, 'inner'))).toEqual([
      '6: count is neither needed at the head nor defined',
    ]);
    expect(problemsOfScript('local a = 1\nlocal a = 2\nreturn a')).toEqual(['a is declared twice']);
    expect(problemsOfScript('local function f(pcall) return pcall end return f')).toEqual([
      '1: pcall hides what Redis has by this name',
    ]);
  });
});

describe.each([
  ['GearMonkey', GEARMONKEY, undefined],
  ['JQ', JQ, 'turn'],
  ['connections', RIGHTS, undefined],
  ['imports', IMPORT, undefined],
] as const)('the scripts of %s', (_, texts, list) => {
  it('say at the head of each file what it needs, and what it gives', () => {
    expect(problemsOfParts(texts, list)).toEqual([]);
  });

  it.each(list === undefined ? Object.keys(texts) : [list])(
    'see all names that %s uses, and each once',
    (name) => {
      expect(problemsOfScript(script(texts, name))).toEqual([]);
    },
  );
});
