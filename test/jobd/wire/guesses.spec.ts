import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { authenticator } from '../../../lib/jobd/protocol/authentication.js';
import { sayExposure } from '../../../lib/jobd/protocol/exposure.js';
import { WrongGuesses } from '../../../lib/jobd/protocol/guess-queue.js';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { RawClient } from './raw-client.js';
import { useMaster } from './use-master.js';
import { useWorker } from './use-worker.js';

const PASSWORD = 'correct horse battery';
/** As `jobctl hash-password` printed it for `secret`. */
const HASH = 'scrypt:2:8:1:uWmy_2rTYwLsylDsDQ5Xhw:-JtrGsLUrUMku0Tppno8p_lt75oguc5ETknfYQXV5R8';
const ONE = '10.0.0.1';
const OTHER = '10.0.0.2';

describe('wrong passwords from one address', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** Seconds until each further guess was checked. */
  async function pauses(check: () => boolean | Promise<boolean>, count: number): Promise<number[]> {
    const seconds: number[] = [];
    for (let guess = 0; guess < count; guess++) {
      const begun = performance.now();
      const verdict = check();
      if (typeof verdict !== 'boolean') await Promise.all([verdict, jest.runAllTimersAsync()]);
      seconds.push(Math.round(performance.now() - begun) / 1000);
    }
    return seconds;
  }

  it('are checked at once five times, and then after pauses that double, up to ten seconds', async () => {
    const check = authenticator({ password: PASSWORD });
    expect(await pauses(() => check?.('wrong', ONE) ?? true, 15)).toEqual([
      ...[0, 0, 0, 0, 0],
      ...[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4],
      ...[10, 10, 10],
    ]);
  });

  it('leave others alone, also where they come in between', async () => {
    const check = authenticator({ password: PASSWORD });
    await pauses(() => check?.('wrong', ONE) ?? true, 9);
    const waiting = check?.('wrong', ONE);
    expect(check?.(PASSWORD, OTHER)).toBe(true);
    expect(check?.('wrong', OTHER)).toBe(false);
    await Promise.all([waiting, jest.runAllTimersAsync()]);
  });

  it('delay the right one from there too, which then passes', async () => {
    const check = authenticator({ password: PASSWORD });
    await pauses(() => check?.('wrong', ONE) ?? true, 6);
    const guesses = ['wrong', PASSWORD, 'wrong'].map((given) => check?.(given, ONE));
    await jest.runAllTimersAsync();
    await expect(Promise.all(guesses)).resolves.toEqual([false, true, false]);
  });

  it('are slowed for a hashed password as well', async () => {
    const check = authenticator({ passwordHash: HASH });
    const wrong = () => check?.('wrong', ONE) ?? true;
    for (let guess = 0; guess < 5; guess++) await wrong();
    const sixth = wrong();
    let isChecked = false;
    void Promise.resolve(sixth).then(() => (isChecked = true));
    await jest.advanceTimersByTimeAsync(90);
    expect(isChecked).toBe(false);
    await jest.advanceTimersByTimeAsync(20);
    await expect(sixth).resolves.toBe(false);
  });

  it('are forgotten ten minutes after the last one', () => {
    const wrong = new WrongGuesses();
    for (let guess = 0; guess < 20; guess++) wrong.note(ONE);
    jest.advanceTimersByTime(600_000);
    expect(wrong.note(OTHER)).toBe(false);
    wrong.note(ONE);
    expect(wrong.pause(ONE)).toBe(0);
  });

  it('are counted for the whole /64 network of an IPv6 address, and told once', () => {
    const wrong = new WrongGuesses();
    const told = Array.from({ length: 7 }, (_, n) => wrong.note(`2001:db8::${n + 1}`));
    expect(told).toEqual([false, false, false, false, true, false, false]);
    expect(wrong.pause('2001:db8::ffff:1:2:3')).toBe(400);
    expect(wrong.pause('2001:db8:0:1::1')).toBe(0);
  });

  it('are kept of ten thousand addresses', () => {
    const wrong = new WrongGuesses();
    for (let guess = 0; guess < 6; guess++) wrong.note(ONE);
    for (let n = 0; n < 9999; n++) wrong.note(`10.1.${n >> 8}.${n & 255}`);
    expect(wrong.pause(ONE)).toBe(200);
    wrong.note(OTHER);
    expect(wrong.pause(ONE)).toBe(0);
  });
});

describe.each([
  ['worker', (options: object) => useWorker({ options })],
  ['master', (options: object) => useMaster(options)],
])('a %s whose password is guessed', (_, use) => {
  const lines: string[] = [];
  const log = { ...SILENT, warn: (line: string) => void lines.push(line) };
  const server = use({ auth: { password: PASSWORD }, log });
  const request = (password: string) => JSON.stringify([0, { no: 7, type: 'status', password }]);

  it('says so, and still serves who has it', async () => {
    for (let guess = 0; guess < 6; guess++) {
      const client = await RawClient.connect(server.port);
      client.send(request(`wrong ${guess}`));
      await expect(client.ended()).resolves.toEqual(['[1,{"no":7,"error":"invalid password"}]']);
    }
    const client = await RawClient.connect(server.port);
    await expect(client.ask(request(PASSWORD))).resolves.toEqual([expect.stringContaining('"no":7,"data"')]);
    client.close();
    expect(lines.filter((line) => line.includes('more and more slowly'))).toEqual([
      expect.stringMatching(
        /^wrong passwords from \S*127\.0\.0\.1: its next ones are checked more and more slowly$/,
      ),
    ]);
  });
});

describe('a short password', () => {
  it.each([
    [{ password: 'x'.repeat(15) }, true],
    [{ password: 'x'.repeat(16) }, false],
    [{ password: 'short', passwordHash: HASH }, false],
    [{}, false],
  ])('is warned about at the start: %j', (auth, isWarned) => {
    const lines: string[] = [];
    sayExposure({ host: '127.0.0.1', auth }, { ...SILENT, warn: (line: string) => void lines.push(line) });
    expect(lines).toEqual(
      isWarned ? ['the password is short: it can be found by trying. Give it 16 characters'] : [],
    );
  });
});
