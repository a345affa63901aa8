import { describe, expect, it } from '@jest/globals';
import { sign, signed, verify } from '../../../lib/jq/wire/signature.js';

const BODY = Buffer.from('85a26964a26a31', 'hex');
const NOW = 1_800_000_000_400;
const TIMESTAMP = '1800000000';
const good = { 'jq-timestamp': TIMESTAMP, 'jq-signature': sign(BODY, TIMESTAMP, 'secret') };
const options = { secrets: ['secret'], window: 60_000, now: NOW };

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

  it('refuses another body and another secret', () => {
    expect(verify(Buffer.from('x'), good, options)).toBe(false);
    expect(verify(BODY, good, { ...options, secrets: ['other'] })).toBe(false);
    expect(verify(BODY, good, { ...options, secrets: [] })).toBe(false);
  });

  it('takes what was signed within the window, and nothing older or from the future', () => {
    const at = Number(TIMESTAMP) * 1000;
    expect(verify(BODY, good, { ...options, now: at + 60_000 })).toBe(true);
    expect(verify(BODY, good, { ...options, now: at - 60_000 })).toBe(true);
    expect(verify(BODY, good, { ...options, now: at + 60_001 })).toBe(false);
    expect(verify(BODY, good, { ...options, now: at - 60_001 })).toBe(false);
  });

  it('takes any of two secrets while one replaces the other', () => {
    expect(verify(BODY, good, { ...options, secrets: ['next', 'secret'] })).toBe(true);
  });

  it('takes what `signed` writes', () => {
    expect(signed(BODY, 'secret', NOW)).toEqual(good);
  });

  it('is what other languages compute', () => {
    // python3: hmac.new(b'secret', b'1800000000.' + bytes.fromhex('85a26964a26a31'), 'sha256').hexdigest()
    expect(good['jq-signature']).toBe('v1=e2ce7c104fe6a228a2b2f37ac448eb0a7161c346c401c87185e42e89d03d09ad');
  });
});
