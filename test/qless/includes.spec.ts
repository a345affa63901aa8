import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withParts } from '../../lib/qless/wire/includes.js';
import { namesIn } from '../lua/lua-names.js';
import { strayNames } from '../lua/lua-parts.js';

const SCRIPTS = fileURLToPath(new URL('../../lib/qless/wire/scripts/', import.meta.url));
/** What scripts begin with. */
const FRAME = 'prefix now args command COMMANDS';

const made = (files: Record<string, string>) =>
  withParts('file', (name) => {
    const text = files[name];
    if (text === undefined) throw new Error(`No ${name}`);
    return text;
  }).join('\n');

describe('an include', () => {
  const number = 'local function number(text) return tonumber(text) end';

  it('is replaced by its part, with the parts that this includes, once', () => {
    const files = {
      file: '-- include one: one\n-- include two: two\nreturn one + two',
      one: '-- include two: two\nlocal one = two',
      two: 'local two = 2',
    };
    expect(made(files)).toBe('local two = 2\nlocal one = two\nreturn one + two');
  });

  it('lists names that the part defines', () => {
    const files = { file: '-- include number: numbers\nreturn numbers', number };
    expect(() => made(files)).toThrow('file: the part "number" defines no numbers.');
  });

  it('lists names that the file uses', () => {
    const files = { file: '-- include number: number\n-- a number\nreturn 1', number };
    expect(() => made(files)).toThrow('file: number of "number" is not used.');
    expect(() => made({ file: '-- include number\nreturn number(1)', number })).toThrow('is no include');
  });

  it('is at the head of the file, unless a figure beside it says why not', () => {
    const inner = (directive: string) => ({
      file: `local a = 1\nif a then\n  ${directive}\n  return number(a)\nend\nreturn a`,
      number,
    });
    expect(() => made(inner('-- include number: number'))).toThrow(
      'file: "-- include number: number" is not at its head.',
    );
    expect(made(inner('-- include number: number -- 9 % of it'))).toContain(`if a then\n  ${number}\n`);
  });

  it('of a command that is inlined comes with it, or earlier with the includes of it', () => {
    const command = '--[=[\n  its contract\n]=]\n-- include number: number\nreturn number(1)';
    const inlined = { 'commands/one': command, number };
    const code = 'local function run()\n  -- inline commands/one\nend';
    expect(made({ ...inlined, file: code })).toBe(
      `local function run()\n  ${number}\n  return number(1)\nend`,
    );
    expect(made({ ...inlined, file: `-- includes of commands/one\n${code}` })).toBe(
      `${number}\nlocal function run()\n  return number(1)\nend`,
    );
  });
});

describe('every file of Lua', () => {
  const files = readdirSync(SCRIPTS, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.lua'));

  it.each(files)('includes by name all that it uses: %s', (name) => {
    const text = readFileSync(SCRIPTS + name, 'utf8');
    const included = [...text.matchAll(/^ *-- include \S+: (\w+(?:, \w+)*)/gm)];
    const named = included.flatMap(([, names = '']) => names.split(', '));
    expect(strayNames(namesIn(text).free, new Set([...FRAME.split(' '), ...named]))).toEqual([]);
  });
});
