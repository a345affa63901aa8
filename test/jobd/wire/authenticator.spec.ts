import { describe, expect, it } from '@jest/globals';
import { authenticator } from '../../../lib/jobd/protocol/authentication.js';
import { checkExposure } from '../../../lib/jobd/protocol/exposure.js';
import { GuessQueue } from '../../../lib/jobd/protocol/guess-queue.js';
import { gate } from '../../support/gate.js';

describe('authenticator', () => {
  it('takes the password and no other', () => {
    const check = authenticator({ password: 'correct horse' });
    const given = ['correct horse', 'wrong horse', '', undefined];
    expect(given.map((password) => check?.(password, '10.0.0.1'))).toEqual([true, false, false, false]);
  });

  it('takes this machine without one, if that is allowed, and no other', () => {
    const check = authenticator({ password: 'correct horse', allowLocalhost: true });
    const addresses = ['127.0.0.1', '::1', '10.0.0.1', undefined];
    expect(addresses.map((address) => check?.(undefined, address))).toEqual([true, true, false, false]);
  });
});

describe('checkExposure', () => {
  it('refuses to listen for other machines without a password', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1'])
      expect(() => checkExposure({ host, auth: {} })).not.toThrow();
    for (const host of ['0.0.0.0', '10.0.0.1', '::', 'example.com'])
      expect(() => checkExposure({ host, auth: {} })).toThrow(`'host' is ${host}`);
    expect(() => checkExposure({ host: '0.0.0.0', auth: { password: 'correct horse' } })).not.toThrow();
  });
});

describe('GuessQueue', () => {
  it('refuses guesses of an address that has fifty of them', async () => {
    const queue = new GuessQueue();
    const { passed, open } = gate();
    const ask = (address: string) =>
      queue.ask(
        address,
        () => passed.then(() => true),
        () => false,
      );
    const guesses = Array.from({ length: 60 }, () => ask('10.0.0.1'));
    const other = ask('10.0.0.2');
    open();
    const verdicts = await Promise.all(guesses);
    // One is being checked, and fifty wait.
    expect(verdicts.filter(Boolean)).toHaveLength(51);
    await expect(other).resolves.toBe(true);
  });
});
