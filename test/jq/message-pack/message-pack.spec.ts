import { describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { fromJson, toJson } from '../../../lib/jq/message-pack/json.js';
import { MalformedMessageError } from '../../../lib/job/message-pack/message-pack-errors.js';
import { pack } from '../../../lib/jq/message-pack/pack.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { otherKey, Paths, pick } from '../../../lib/jq/message-pack/pick.js';
import { elementsOf, integerOf, textOf, toRaw } from '../../../lib/jq/message-pack/unpack.js';
import { FRAGILE, VECTORS, vector, type VectorName } from './vectors.js';

const DEPTH = 64;
const hex = (text: string) => Buffer.from(text, 'hex');
const nested = (levels: number) => Buffer.concat([Buffer.alloc(levels - 1, 0x91), Buffer.of(0x90)]);

describe('toRaw', () => {
  it.each([
    ['no bytes', ''],
    ['the byte that begins nothing', 'c1'],
    ['it inside of an array', '92c0c1'],
    ['a second value', 'c0c0'],
    ['a count of elements that are not there', 'ddffffffff'],
    ['a count of entries that are not there', 'dfffffffff'],
    ['a length of text that is not there', 'dbffffffff41'],
    ['a length of an extension that is not there', 'c9ffffffff05'],
    ['half a length', 'da00'],
    ['an entry without a value', '81a161'],
  ])('refuses %s', (_, bytes) => {
    expect(() => toRaw(hex(bytes), DEPTH)).toThrow(MalformedMessageError);
  });

  it.each(Object.keys(VECTORS) as VectorName[])('refuses every truncation of %s', (name) => {
    const bytes = vector(name);
    expect(toRaw(bytes, DEPTH).bytes).toEqual(bytes);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => toRaw(bytes.subarray(0, length), DEPTH)).toThrow(/cut off/);
    }
  });

  it('counts levels, and does not recurse', () => {
    expect(() => toRaw(nested(DEPTH), DEPTH)).not.toThrow();
    expect(() => toRaw(nested(DEPTH + 1), DEPTH)).toThrow(/more than 64 levels/);
    expect(() => toRaw(nested(1_000_000), DEPTH)).toThrow(/more than 64 levels/);
    expect(() => toRaw(nested(1_000_000), Infinity)).not.toThrow();
  });

  it('ends where a whole codec ends, for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const bytes = Buffer.from(encode(value));
        expect(toRaw(bytes, DEPTH).bytes).toBe(bytes);
        expect(() => toRaw(Buffer.concat([bytes, Buffer.of(0)]), DEPTH)).toThrow(/1 bytes follow/);
      }),
    );
  });

  it('throws nothing but its own error for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          toRaw(Buffer.from(bytes), DEPTH);
        } catch (error) {
          if (!(error instanceof MalformedMessageError)) throw error;
        }
      }),
      { numRuns: 5000 },
    );
  });
});

describe('pick', () => {
  const found = (value: Raw, ...paths: string[]) => {
    const { below } = pick(value, new Paths(paths.map((path) => path.split('.'))));
    return [...below].map(([key, { raw }]) => [key, raw.bytes.toString('hex')]);
  };

  it('gives values as the bytes they came as', () => {
    const all = ['name', 'argument', 'priority', 'max_retry', 'keep_result', 'timeout', 'nothing'];
    expect(found(toRaw(vector('POST /job all'), DEPTH), ...all)).toEqual([
      ['name', 'a46d61696c'],
      ['argument', '81a2746fa3614062'],
      ['priority', 'fb'],
      ['max_retry', 'd30000000000000003'],
      ['keep_result', 'c3'],
      ['timeout', 'd3000000000000001e'],
    ]);
  });

  it('lets the last of equal keys count, with all that is in it, and keys that are no UTF-8 text go', () => {
    expect(found(new Raw(hex('84a16101a1610201a162c0a163')), 'a', 'c')).toEqual([['a', '02']]);
    const twice = pick(new Raw(hex('82a16181a16201a16181a16302')), new Paths([['a', 'b']]));
    expect([...(twice.below.get('a')?.below.keys() ?? [])]).toEqual([]);
    expect(found(new Raw(hex('82a1ff01a3efbfbd02')), '\ufffd')).toEqual([['\ufffd', '02']]);
  });

  it('goes into arrays by index, and into nothing that is a value', () => {
    expect(found(new Raw(hex('93c001a0')), '1', '3', '-1', '01', 'a')).toEqual([['1', '01']]);
    expect(found(new Raw(hex('a131')), '0')).toEqual([]);
    expect(found(new Raw(hex('80')), 'a')).toEqual([]);
  });

  it('finds a value and what is below it', () => {
    const { below } = pick(new Raw(hex('81a161920102')), new Paths([['a'], ['a', '1']]));
    expect(below.get('a')?.raw.bytes.toString('hex')).toBe('920102');
    expect(below.get('a')?.below.get('1')?.raw.bytes.toString('hex')).toBe('02');
  });
});

describe('otherKey', () => {
  it('is the first that is text and not known', () => {
    const map = new Raw(hex('84a16101 01a162 a1ff00 a162c0'.replaceAll(' ', '')));
    expect(otherKey(map, new Set(['a']))).toBe('b');
    expect(otherKey(map, new Set(['a', 'b']))).toBeUndefined();
  });
});

describe('readers', () => {
  it('take integers of any width, exactly', () => {
    const read = (bytes: string) => integerOf(new Raw(hex(bytes)));
    expect(['03', 'd30000000000000003', 'cc03', 'd1fffb', 'fb'].map(read)).toEqual([3, 3, 3, -5, -5]);
    expect(read('cfffffffffffffffff')).toBe(2n ** 64n - 1n);
    expect(read('cb3ff0000000000000')).toBeUndefined();
  });

  it('take text of any width, and no other bytes', () => {
    const read = (bytes: string) => textOf(new Raw(hex(bytes)));
    expect(['a161', 'd90161', 'da000161', 'db0000000161'].map(read)).toEqual(['a', 'a', 'a', 'a']);
    expect(['c40161', 'a1ff', '01'].map(read)).toEqual([undefined, undefined, undefined]);
  });

  it('take arrays apart', () => {
    expect(elementsOf(new Raw(hex('93c0920102a0'))).map(({ bytes }) => bytes.toString('hex'))).toEqual([
      'c0',
      '920102',
      'a0',
    ]);
  });
});

describe('pack', () => {
  it.each(Object.entries(FRAGILE))('leaves %s as it is', (_, bytes) => {
    const message = pack({ job_id: 'j', result: new Raw(hex(bytes)), left: undefined });
    expect(message.toString('hex')).toBe(`82a66a6f625f6964a16aa6726573756c74${bytes}`);
  });

  it('writes what a whole codec reads, for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        // The other codec refuses this key.
        fc.pre(!JSON.stringify(value).includes('"__proto__"'));
        expect(decode(pack(value as never))).toEqual(decode(encode(value)));
      }),
    );
    const long = { list: Array.from({ length: 70_000 }, (_, i) => i), text: 'ä'.repeat(40) };
    expect(decode(pack(long))).toEqual(long);
  });
});

describe('JSON', () => {
  it.each([
    ['nothing', ''],
    ['half of it', '{"a":'],
    ['two', '{} {}'],
    ['words', 'hello'],
  ])('refuses %s', (_, text) => {
    expect(() => fromJson(Buffer.from(text), DEPTH)).toThrow(MalformedMessageError);
  });

  it('refuses what is no UTF-8, and what is nested too deep, before it is parsed', () => {
    expect(() => fromJson(Buffer.of(0x22, 0xff, 0x22), DEPTH)).toThrow(/UTF-8/);
    expect(() => fromJson(Buffer.from('['.repeat(1_000_000)), DEPTH)).toThrow(/64 levels/);
    expect(() => fromJson(Buffer.from('['.repeat(64) + ']'.repeat(64)), DEPTH)).not.toThrow();
    expect(() => fromJson(Buffer.from(`["${'[\\"'.repeat(100)}"]`), DEPTH)).not.toThrow();
  });

  it('refuses more than 50,000 keys, objects and arrays before it is parsed, and reads keys in texts as text', () => {
    const keys = (count: number) =>
      Buffer.from(`{${Array.from({ length: count }, (_, key) => `"${key}":1`).join()}}`);
    const refusal = 'more than 50000 keys, objects and arrays: send MessagePack';
    expect(() => fromJson(keys(49_999), DEPTH)).not.toThrow();
    expect(() => fromJson(keys(50_000), DEPTH)).toThrow(refusal);
    expect(() => fromJson(Buffer.from(`[${'{},'.repeat(50_000)}1]`), DEPTH)).toThrow(refusal);
    expect(() => fromJson(Buffer.from(`["${':{['.repeat(50_000)}"]`), DEPTH)).not.toThrow();
    expect(() => fromJson(Buffer.from(`[${'1,'.repeat(100_000)}1]`), DEPTH)).not.toThrow();
  });

  it('shows MessagePack with more of them as its bytes', () => {
    const map = (count: number) =>
      new Raw(
        Buffer.from(encode(Object.fromEntries(Array.from({ length: count }, (_, key) => [`k${key}`, 1])))),
      );
    const large = map(50_000);
    expect(JSON.parse(toJson({ v: large })).v).toEqual({ base64: large.bytes.toString('base64') });
    expect(Object.keys(JSON.parse(toJson({ v: map(49_999) })).v as object)).toHaveLength(49_999);
  });

  it('stands for the same MessagePack', () => {
    const value = { name: 'mail', argument: { to: ['a@b', 1, 1.5, null, true] } };
    expect(decode(fromJson(Buffer.from(JSON.stringify(value)), DEPTH).bytes)).toEqual(value);
  });

  it('shows in some way whatever MessagePack can hold', () => {
    const shown = Object.values(FRAGILE).map((bytes) => JSON.parse(toJson({ v: new Raw(hex(bytes)) })).v);
    expect(shown).toEqual([
      1,
      1,
      '9223372036854775807',
      '18446744073709551615',
      3,
      expect.stringMatching(/^2106-02-07T06:28:1/),
      { 1: 'a', '-1': 2 },
      { a: 2 },
      { type: 5, data: 'Kg==' },
      'AQID',
      expect.anything(),
      null,
    ]);
  });
});
