import { describe, expect, it } from '@jest/globals';
import { secretDigest, secretEquals } from '../../lib/net/secret-equals.js';
import { urlHost } from '../../lib/net/url-host.js';

describe('secretEquals', () => {
  it('compares digests of secrets of any length', () => {
    const expected = secretDigest('a secret');
    expect(secretEquals(secretDigest('a secret'), expected)).toBe(true);
    for (const wrong of ['', 'a secre', 'a secret ', 'A secret'])
      expect(secretEquals(secretDigest(wrong), expected)).toBe(false);
  });

  it('treats bytes of different length as unequal', () => {
    expect(secretEquals(Buffer.from('abc'), Buffer.from('ab'))).toBe(false);
  });
});

describe('urlHost', () => {
  it('puts only IPv6 addresses in brackets', () => {
    expect(['127.0.0.1', 'host', '::1'].map(urlHost)).toEqual(['127.0.0.1', 'host', '[::1]']);
  });
});
