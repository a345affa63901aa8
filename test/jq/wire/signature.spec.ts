import { describe, expect, it } from '@jest/globals';
import { noDurations } from '../../support/no-durations.js';
import { sign, signed, verify } from '../../../lib/jq/wire/signature.js';

const BODY = Buffer.from('85a26964a26a31', 'hex');
const NOW = 1_800_000_000_400;
const URL = 'http://w/1';
const TIMESTAMP = '1800000000';
const good = { 'jq-timestamp': TIMESTAMP, 'jq-signature': sign(BODY, TIMESTAMP, URL, 'secret') };
const options = { url: URL, secrets: ['secret'], window: '1m', now: new Date(NOW) };

describe('verify', () => {
  it.each([
    ['no headers', {}],
    ['no signature', { 'jq-timestamp': TIMESTAMP }],
    ['no timestamp', { 'jq-signature': good['jq-signature'] }],
    ['headers that came twice', { 'jq-timestamp': [TIMESTAMP], 'jq-signature': [good['jq-signature']] }],
    ['an empty signature', { ...good, 'jq-signature': '' }],
    ['a signature without its scheme', { ...good, 'jq-signature': good['jq-signature'].slice(3) }],
    ['a signature that is cut off', { ...good, 'jq-signature': good['jq-signature'].slice(0, -1) }],
    ['another timestamp than was signed', { ...good, 'jq-timestamp': '1800000001' }],
    ['a timestamp written otherwise', { ...good, 'jq-timestamp': '01800000000' }],
    ['a timestamp that is no number', { ...good, 'jq-timestamp': 'now' }],
  ])('refuses %s', (_, headers) => {
    expect(verify(BODY, headers, options)).toBe(false);
  });

  it('refuses another body, another secret, and what was sent to another worker', () => {
    expect(verify(BODY, good, { ...options, url: 'http://w/2' })).toBe(false);
    expect(verify(Buffer.from('x'), good, options)).toBe(false);
    expect(verify(BODY, good, { ...options, secrets: ['other'] })).toBe(false);
    expect(verify(BODY, good, { ...options, secrets: [] })).toBe(false);
  });

  it('takes what was signed within the window, and nothing older or from the future', () => {
    const at = Number(TIMESTAMP) * 1000;
    expect(verify(BODY, good, { ...options, now: new Date(at + 60_000) })).toBe(true);
    expect(verify(BODY, good, { ...options, now: new Date(at - 60_000) })).toBe(true);
    expect(verify(BODY, good, { ...options, now: new Date(at + 60_001) })).toBe(false);
    expect(verify(BODY, good, { ...options, now: new Date(at - 60_001) })).toBe(false);
  });

  it('takes nothing at a time that is none, and refuses a window that is none', () => {
    expect(verify(BODY, good, { ...options, now: new Date('never') })).toBe(false);
    for (const [, window] of noDurations())
      expect(() => verify(BODY, good, { ...options, window: window as number })).toThrow('Expected `window`');
  });

  it('takes any of two secrets while one replaces the other', () => {
    expect(verify(BODY, good, { ...options, secrets: ['next', 'secret'] })).toBe(true);
  });

  it('takes what `signed` writes', () => {
    expect(signed(BODY, URL, 'secret', NOW)).toEqual(good);
  });

  it('is what other languages compute', () => {
    // python3: hmac.new(b'secret', b'1800000000 http://w/1\\n' + bytes.fromhex('85a26964a26a31'), 'sha256').hexdigest()
    expect(good['jq-signature']).toBe('v2=38f585058db0e1781ae7b5108f980f62cef97595f4dbdea517949e214997fc7e');
  });
});
