import { describe, expect, it } from '@jest/globals';
import { checkHeaders, readHeaders } from '../../lib/job/headers.js';
import { HOSTILE_VALUES } from '../support/hostile-values.js';

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, number) => [`h${number}`, 'x']));

describe('checkHeaders', () => {
  it.each([
    ['text', 'tenant=acme'],
    ['null', null],
    ['a list', ['tenant']],
    ['a Map', new Map([['tenant', 'acme']])],
    ['the Headers of fetch', new Headers({ tenant: 'acme' })],
    ['a Promise', Promise.resolve({ tenant: 'acme' })],
    ['65 headers', many(65)],
    ['a name without characters', { '': 'x' }],
    ['a name of 256 characters', { ['x'.repeat(256)]: 'x' }],
    ['more than 8 KiB', { large: 'x'.repeat(8181) }],
    ['more than 8 KiB of UTF-8', { large: 'é'.repeat(4091) }],
  ])('refuses %s', (_, headers) => {
    expect(() => checkHeaders(headers)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'headers' }),
    );
  });

  it.each([
    ['a number', 1],
    ['null', null],
    ['an object', {}],
    ['half a surrogate pair', '\ud800'],
  ])('refuses the value %s, and names the header', (_, value) => {
    expect(() => checkHeaders({ tenant: value })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'headers.tenant' }),
    );
  });

  it.each(HOSTILE_VALUES)('accepts, or refuses with its own error, %s', (_, make) => {
    const outcome = (given: unknown) => {
      try {
        return checkHeaders(given) ?? 'none';
      } catch (error) {
        return error;
      }
    };
    for (const given of [make(), { tenant: make() }]) {
      const result = outcome(given);
      if (result instanceof Error) expect(result).toHaveProperty('code', 'INVALID_OPTION');
      else
        expect(result === 'none' || Object.values(result as object).every((v) => typeof v === 'string')).toBe(
          true,
        );
    }
  });

  it('takes 64 headers, and 8 KiB', () => {
    expect(Object.keys(checkHeaders(many(64)) ?? {})).toHaveLength(64);
    expect(checkHeaders({ large: 'x'.repeat(8192 - '{"large":""}'.length) })).toBeDefined();
  });

  it('prefers the later ones, and leaves out those without a value', () => {
    const headers = checkHeaders({ tenant: 'a', locale: 'de', trace: undefined }, undefined, { tenant: 'b' });
    expect({ ...headers }).toEqual({ tenant: 'b', locale: 'de' });
  });

  it('treats names of Object.prototype as any other', () => {
    const headers = checkHeaders(JSON.parse('{"__proto__":"a","constructor":"b"}'));
    expect(Object.entries(headers ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(checkHeaders({ tenant: 'a' })?.['toString']).toBeUndefined();
  });

  it('makes a frozen copy', () => {
    const given = { tenant: 'a' };
    const headers = checkHeaders(given);
    given.tenant = 'b';
    expect({ ...headers }).toEqual({ tenant: 'a' });
    expect(Object.isFrozen(headers)).toBe(true);
  });

  it('returns undefined if no header has a value', () => {
    expect(checkHeaders({}, { a: undefined }, undefined)).toBeUndefined();
  });
});

describe('readHeaders', () => {
  it.each([[undefined], [5], [{ a: 1 }], [many(65)]])(
    'ignores what this package does not send: %j',
    (received) => {
      expect(readHeaders(received)).toBeUndefined();
    },
  );
});
