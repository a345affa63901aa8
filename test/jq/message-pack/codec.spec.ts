import { describe, expect, it } from '@jest/globals';
import { messagePack, rawMessagePack } from '../../../lib/jq/message-pack/codec.js';

const hex = (payload: string | Uint8Array) => Buffer.from(payload as Uint8Array).toString('hex');
const decode = (text: string) => messagePack.decode(Buffer.from(text, 'hex'));

describe('messagePack', () => {
  it.each([
    ['nothing', ''],
    ['a value that is cut off', '81a161'],
    ['two values', 'c0c0'],
    ['nesting of two thousand levels', '91'.repeat(2000) + 'c0'],
    ['a key that would reach a prototype', '81a95f5f70726f746f5f5f01'],
  ])('refuses to read %s', (_, text) => {
    expect(() => decode(text)).toThrow();
  });

  it.each([
    ['wider than 64 bits', { n: 2n ** 64n }],
    ['narrower than 64 bits', [-(2n ** 63n) - 1n]],
  ])('refuses to write a bigint %s', (_, value) => {
    expect(() => messagePack.encode(value)).toThrow('64 bits');
  });

  it('refuses to write what has no end', () => {
    const circle: Record<string, unknown> = { n: 1n };
    circle['self'] = circle;
    expect(() => messagePack.encode(circle)).toThrow();
  });

  it.each([
    ['small integers in eight bytes as numbers', 'd30000000000000001', 1],
    ['integers that a number does not hold as bigints', 'cf8000000000000000', 2n ** 63n],
    ['the widest that a number holds as a number', 'cf001fffffffffffff', Number.MAX_SAFE_INTEGER],
    ['keys that are integers as text', '8101a161', { 1: 'a' }],
    ['timestamps as dates', 'd6ff00000001', new Date(1000)],
  ])('reads %s', (_, text, value) => {
    expect(decode(text)).toEqual(value);
  });

  it('writes wide numbers beside bigints as the integers they are', () => {
    const value = {
      id: 2n ** 63n,
      at: 1_800_000_000_000,
      small: 7,
      share: 0.5,
      list: [-(2n ** 40n), undefined],
    };
    expect(hex(messagePack.encode(value))).toContain('a26174cf000001a3185c5000');
    expect(decode(hex(messagePack.encode(value)))).toEqual({ ...value, list: [-(2 ** 40), null] });
  });

  it('leaves entries out that are undefined', () => {
    expect(hex(messagePack.encode({ a: undefined, b: 1 }))).toBe('81a16201');
  });
});

describe('rawMessagePack', () => {
  it.each([
    ['what is no bytes', 'text'],
    ['no value', Buffer.alloc(0)],
    ['two values', Buffer.from('c0c0', 'hex')],
  ])('refuses to write %s', (_, value) => {
    expect(() => rawMessagePack.encode(value)).toThrow();
  });

  it('passes one value as the bytes it is', () => {
    const bytes = Buffer.from('cb3ff0000000000000', 'hex');
    expect(rawMessagePack.encode(bytes)).toEqual(bytes);
    expect(rawMessagePack.decode(bytes)).toBe(bytes);
  });
});
