import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseIni } from '../../../lib/jobd/config/ini.js';

const top = (text: string) => Object.fromEntries(parseIni(text).top);

describe('parseIni', () => {
  it.each([
    ['', {}],
    ['= value', { '': 'value' }],
    ['[unclosed\nkey = 1', { '[unclosed': true, key: '1' }],
    ['alone', { alone: true }],
    ['empty =', { empty: '' }],
    ['; comment\n# comment\n  ; comment', {}],
    ['key = value ; comment', { key: 'value' }],
    ['key = val;ue', { key: 'val' }],
    ['password = abc#def', { password: 'abc' }],
    ['key = a\\;b\\#c\\\\d\\e ; x', { key: 'a;b#c\\d\\e' }],
    ['key = "a;b#c"', { key: 'a;b#c' }],
    ['key = \'a;b # "c"\'', { key: 'a;b # "c"' }],
    ['key = "a\\"b"', { key: 'a"b' }],
    ['key = "C:\\x"', { key: 'C:\\x' }],
    ['key = "a" b', { key: '"a" b' }],
    ['key = "', { key: '"' }],
    ['a = true\nb = false\nc = null', { a: true, b: false, c: null }],
    ['a = "true"\nb = \'null\'', { a: 'true', b: 'null' }],
    ['key = a = b', { key: 'a = b' }],
    ['\uFEFFkey = 1\r\nother = 2\r\n', { key: '1', other: '2' }],
    ['key = 1\nkey = 2', { key: '2' }],
    ['"1/low" = 5', { '1/low': '5' }],
  ])('reads %j', (text, expected) => {
    expect(top(text)).toEqual(expected);
  });

  it('keeps sections with dots and slashes, and keys named as members of objects', () => {
    const { top: before, sections } = parseIni(
      'a=1\n[x.y]\nb=2\n[targets] ; all\n__proto__ = 3\nconstructor=4\nlow[]=5',
    );
    expect([...before]).toEqual([['a', '1']]);
    expect([...sections.keys()]).toEqual(['x.y', 'targets']);
    expect([...(sections.get('targets') ?? [])]).toEqual([
      ['__proto__', '3'],
      ['constructor', '4'],
      ['low[]', '5'],
    ]);
  });

  it('takes any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        for (const value of parseIni(text).top.values())
          expect(['string', 'boolean', 'object']).toContain(typeof value);
      }),
      { seed: 1 },
    );
  });
});
