import { describe, expect, it } from '@jest/globals';
import { codecOf, payloadBytes, read, write, type CodecName } from '../../lib/job/codec.js';
import { InvalidOptionError, NotSerializableError, UnreadablePayloadError } from '../../lib/job/errors.js';

const bytes = (...values: number[]) => new Uint8Array(values);
/** As of arrays, each the first element of the one before. */
const nested = (levels: number, ...head: number[]) =>
  bytes(...Array.from({ length: levels }, () => head).flat());
const utf8 = (text: string) => new Uint8Array(Buffer.from(text));

describe('codecOf', () => {
  it.each(['xml', 'toString', '__proto__'])('refuses %p', (name) => {
    expect(() => codecOf(name as CodecName)).toThrow(InvalidOptionError);
    expect(() => codecOf(name as CodecName)).toThrow("'json', 'text', 'msgpack' or a Codec");
  });

  it('returns json by default', () => {
    expect(codecOf().name).toBe('json');
  });

  it('accepts a custom codec', () => {
    const rot = { name: 'rot', encode: () => 'x', decode: () => 'y' };
    expect(codecOf(rot)).toBe(rot);
  });
});

describe('write', () => {
  const circular: unknown[] = [];
  circular.push(circular);
  const throwing = () => ({
    toJSON() {
      throw new Error('not today');
    },
  });

  const many = Array.from({ length: 1000 }, (_, id) => ({ id }));
  /** As of a library whose queries are run when they are awaited. */
  // oxlint-disable-next-line unicorn/no-thenable -- it is what is refused
  const knex = Object.create({ ['then']: (done: (rows: number) => void) => done(1) }) as object;
  const said = Object.assign(new Set(['a']), { toJSON: () => ['a'] });

  it.each([
    ['json', 'a circle', () => circular, 'circular'],
    ['json', 'a BigInt', () => 1n, 'BigInt'],
    ['json', 'a function', () => () => 1, 'a function has no JSON'],
    ['json', 'a symbol', () => Symbol('x'), 'a symbol has no JSON'],
    ['json', 'what throws', throwing, 'not today'],
    ['json', 'a Promise', () => Promise.resolve(1), 'it is a Promise: await it first'],
    ['json', 'a Promise below', () => ({ a: [{ b: knex }] }), 'a[0].b is a Promise: await it first'],
    ['json', 'a Map', () => new Map([[1, 2]]), 'it is a Map: pass Object.fromEntries(map)'],
    ['json', 'a Map behind many values', () => [...many, { of: new Map() }], '[1000].of is a Map'],
    ['json', 'a Set below', () => ({ tags: new Set(['a']) }), 'tags is a Set: pass a list, [...set]'],
    ['json', 'a weak collection', () => [new WeakMap()], '[0] is a weak collection'],
    ['json', 'a function below', () => ({ to: 'ada', send: () => 1 }), 'send is a function'],
    ['json', 'a function in a list', () => [1, () => 1], '[1] is a function'],
    ['msgpack', 'a Promise', () => Promise.resolve(1), 'it is a Promise: await it first'],
    ['msgpack', 'a Promise below', () => ({ a: [{ b: knex }] }), 'a[0].b is a Promise'],
    ['msgpack', 'a Map behind many values', () => [...many, { of: new Map() }], '[1000].of is a Map'],
    ['msgpack', 'a Set below', () => ({ tags: new Set(['a']) }), 'tags is a Set'],
    ['msgpack', 'a function below', () => ({ send: () => 1 }), 'send is a function'],
    ['msgpack', 'a Set that says how it is written', () => said, 'it has a Map, a Set'],
    ['text', 'a number', () => 7, 'expected a string, got number'],
    ['text', 'half a surrogate pair', () => 'a\ud800', 'half a surrogate pair'],
    ['text', 'undefined', () => undefined, 'expected a string, got undefined'],
    ['msgpack', 'a circle', () => circular, ''],
    ['msgpack', 'a function', () => () => 1, ''],
    ['msgpack', 'a BigInt', () => 1n, ''],
  ] as [CodecName, string, () => unknown, string][])('by %s refuses %s', (name, _, value, reason) => {
    const writing = () => write(codecOf(name), 'fn', 'input', value());
    expect(writing).toThrow(NotSerializableError);
    expect(writing).toThrow(`The input of "fn" can't be written as ${name}`);
    expect(writing).toThrow(reason);
    expect(writing).toThrow('choose another codec');
  });

  it.each([
    ['json', { a: [1, 'ä', null] }, '{"a":[1,"ä",null]}'],
    ['json', 'word', '"word"'],
    ['json', undefined, 'null'],
    ['json', { a: undefined, b: NaN, c: [undefined], d: Infinity }, '{"b":null,"c":[null],"d":null}'],
    ['json', { a: {}, b: '{}', c: new (class Point {})() }, '{"a":{},"b":"{}","c":{}}'],
    ['json', { at: new Date(0), set: said }, '{"at":"1970-01-01T00:00:00.000Z","set":["a"]}'],
    ['json', { reason: new Error('its properties are kept') }, '{"reason":{}}'],
    ['text', '"{', '"{'],
  ] as [CodecName, unknown, string][])('by %s writes %p', (name, value, payload) => {
    expect(write(codecOf(name), 'fn', 'output', value)).toBe(payload);
  });
});

describe('write, with a custom codec', () => {
  it.each([
    ['a Promise', Promise.resolve('x'), 'a Promise'],
    ['an ArrayBuffer', new ArrayBuffer(1), 'an object'],
    ['wider elements than bytes', new Uint16Array(1), 'an object'],
    ['a number', 7, '7'],
    ['nothing', undefined, 'undefined'],
  ])('refuses one that returns %s', (_, payload, shown) => {
    const codec = { name: 'own', encode: () => payload as unknown as string, decode: () => 1 };
    const writing = () => write(codec, 'fn', 'input', 'x');
    expect(writing).toThrow(NotSerializableError);
    expect(writing).toThrow(`the codec returned ${shown} where a string or a Uint8Array is expected`);
  });
});

describe('write, with a codec whose Promise fails', () => {
  it('refuses it, and leaves no rejection that is not handled', () => {
    const encode = () => Promise.reject(new Error('no codec')) as unknown as string;
    expect(() => write({ name: 'own', encode, decode: () => 1 }, 'fn', 'input', 'x')).toThrow('a Promise');
  });
});

describe('read', () => {
  it('refuses a Promise of a custom codec, whatever becomes of it', () => {
    for (const decode of [async () => 1, () => Promise.reject(new Error('no codec'))]) {
      const codec = { name: 'late', encode: () => '', decode };
      expect(() => read(codec, 'fn', 'input', bytes())).toThrow(UnreadablePayloadError);
      expect(() => read(codec, 'fn', 'input', bytes())).toThrow('the codec returned a Promise');
    }
  });

  it.each([
    ['json', bytes(255, 254), 'it is not UTF-8'],
    ['text', bytes(0xc3), 'it is not UTF-8'],
    ['msgpack', bytes(), ''],
    ['msgpack', bytes(0xc1), ''],
    ['msgpack', bytes(1, 2), ''],
    ['msgpack', bytes(0xdd, 0xff, 0xff, 0xff, 0xff), 'it is cut off'],
    ['msgpack', nested(40, 0xdd, 0x01, 0xff, 0xff, 0xff), 'it is cut off'],
    ['msgpack', nested(40, 0xdf, 0x00, 0xff, 0xff, 0xff, 0x01), 'it is cut off'],
    ['msgpack', nested(5000, 0x91), 'it is nested more than 1000 levels deep'],
  ] as [CodecName, Uint8Array, string][])('by %s refuses %p', (name, payload, reason) => {
    const reading = () => read(codecOf(name), 'fn', 'output', payload);
    expect(reading).toThrow(UnreadablePayloadError);
    expect(reading).toThrow(`The output of "fn" is not readable as ${name}`);
    expect(reading).toThrow(reason);
  });

  it.each([
    ['{"a":1}', { a: 1 }],
    ['"word"', 'word'],
    ['word', 'word'],
    ['', ''],
    ['{"a":', '{"a":'],
    ['a\0b\n', 'a\0b\n'],
    ['NaN', 'NaN'],
    [' 7 ', 7],
  ])('by json reads text that is not JSON as a string: %p', (payload, value) => {
    expect(read(codecOf('json'), 'fn', 'input', utf8(payload))).toEqual(value);
  });

  it('by text reads strings unchanged', () => {
    expect(read(codecOf('text'), 'fn', 'input', utf8('"{ä'))).toBe('"{ä');
  });

  it('by msgpack reads what it wrote', () => {
    const value = { list: [1, -1, 1.5, 'ä', null, true], bytes: bytes(0, 255) };
    const payload = write(codecOf('msgpack'), 'fn', 'input', value);
    expect(read(codecOf('msgpack'), 'fn', 'input', payload as Uint8Array)).toEqual(value);
  });

  it('has the reason of a custom codec, for any thrown value', () => {
    const codec = {
      name: 'own',
      encode: () => '',
      decode: () => {
        throw 'out of order';
      },
    };
    expect(() => read(codec, 'fn', 'input', bytes())).toThrow('out of order');
  });
});

describe('payloadBytes', () => {
  it('counts UTF-8', () => {
    expect([payloadBytes('€'), payloadBytes(bytes(1, 2)), payloadBytes('')]).toEqual([3, 2, 0]);
  });
});
