import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger, type LoggerService } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { basicAuth, DashboardModule, type AuditEvent } from 'nestjs-gearmonkey/dashboard';
import { PasswordGuesses } from '../../lib/dashboard/basic-auth.js';
import { ANY_PLATFORM, useServedApps } from './dashboard-app.js';
import { ask } from './http.js';

const ALLOWED = 10;
const PASSWORD = 'correct horse';
const login = (name: string, password: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` },
});

afterEach(() => Logger.overrideLogger(false));

/** The warnings of the dashboard from now on. */
function warnings(): string[] {
  const lines: string[] = [];
  const warn = (text: string, context: string) => void (context === 'Dashboard' && lines.push(text));
  Logger.overrideLogger({ log: () => undefined, warn, error: warn } as unknown as LoggerService);
  return lines;
}

describe.each(ANY_PLATFORM)('guesses at a password on %s', (platform) => {
  const apps = useServedApps();
  const heard: AuditEvent[] = [];
  const hear = (event: unknown) => void heard.push(event as AuditEvent);
  afterEach(() => {
    unsubscribe('gearmonkey:audit', hear);
    heard.length = 0;
  });
  const serve = () =>
    apps.serve(platform, {
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        DashboardModule.forRoot({
          auth: basicAuth({ users: { ops: { password: PASSWORD }, eye: { password: PASSWORD } } }),
        }),
      ],
    });
  const statusOf = async (base: string, name: string, password: string) =>
    (await ask(base, '/api/session', login(name, password))).status;

  it('are refused unread after ten, also the right one, and those of other names are not', async () => {
    const { base } = await serve();
    for (let guess = 0; guess < ALLOWED; guess++)
      expect(await statusOf(base, 'ops', `guess ${guess}`)).toBe(401);
    const { status, headers, text } = await ask(base, '/api/session', login('ops', PASSWORD));
    expect([status, JSON.parse(text)]).toMatchObject([429, { code: 'TOO_MANY_GUESSES' }]);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(await statusOf(base, 'eye', PASSWORD)).toBe(200);
    expect((await ask(base, '/api/session')).status).toBe(401);
  });

  it('are not counted when they are right, nor are requests without a password', async () => {
    const { base } = await serve();
    for (let request = 0; request < 2 * ALLOWED; request++) {
      expect(await statusOf(base, 'ops', PASSWORD)).toBe(200);
      expect((await ask(base, '/api/session')).status).toBe(401);
    }
    expect(await statusOf(base, 'ops', PASSWORD)).toBe(200);
  });

  it('are audit events, each one, without the password', async () => {
    const { base } = await serve();
    subscribe('gearmonkey:audit', hear);
    await ask(base, '/api/session');
    await statusOf(base, 'ops', 'a-wrong-one');
    await statusOf(base, 'o\nps', 'a-wrong-one');
    expect(heard).toMatchObject([
      { action: 'login-refused', user: 'ops', error: { code: 'NOT_LOGGED_IN' } },
      { action: 'login-refused', user: 'o\nps', error: { code: 'NOT_LOGGED_IN' } },
    ]);
    expect(heard[0]?.target).toContain('127.0.0.1');
    expect(JSON.stringify(heard)).not.toContain('a-wrong-one');
  });
});

describe('guesses at passwords', () => {
  const isKnown = (name: string) => name === 'ops';
  const guessesOf = (address: string, name: string, guesses: PasswordGuesses, count = ALLOWED, now = 0) => {
    for (let guess = 0; guess < count; guess++) guesses.wrong(address, name, now);
  };

  it('are allowed again one by one, each ten seconds', () => {
    const guesses = new PasswordGuesses(isKnown);
    const left = (now: number) => {
      let count = 0;
      try {
        for (;;) {
          guesses.check('10.0.0.1', 'ops', now);
          guesses.wrong('10.0.0.1', 'ops', now);
          count++;
        }
      } catch {
        return count;
      }
    };
    expect([left(0), left(9_999), left(10_000), left(10_001), left(35_000)]).toEqual([ALLOWED, 0, 1, 0, 2]);
    expect(left(10_000_000)).toBe(ALLOWED);
  });

  it('count for an address of IPv4, and for a network of IPv6', () => {
    const guesses = new PasswordGuesses(isKnown);
    guessesOf('10.0.0.1', 'ops', guesses);
    guessesOf('2001:db8:1:2::1', 'ops', guesses);
    for (const address of [
      '10.0.0.1',
      '::ffff:10.0.0.1',
      '2001:db8:1:2:ffff::9',
      '2001:db8:1:2:a:b:c:d%eth0',
    ])
      expect(() => guesses.check(address, 'ops', 0)).toThrow('Too many wrong passwords');
    for (const address of ['10.0.0.2', '::ffff:10.0.0.2', '2001:db8:1:3::1', '2001:db8::1:2', ''])
      expect(() => guesses.check(address, 'ops', 0)).not.toThrow();
    expect(() => guesses.check('10.0.0.1', 'eye', 0)).not.toThrow();
  });

  it('are forgotten beyond ten thousand names, the oldest first', () => {
    const guesses = new PasswordGuesses(isKnown);
    guessesOf('10.0.0.1', 'old', guesses);
    guessesOf('10.0.0.1', 'new', guesses);
    for (let name = 0; name < 9_999; name++) guesses.wrong('10.0.0.1', `name ${name}`, 0);
    expect(() => guesses.check('10.0.0.1', 'new', 0)).toThrow('Too many');
    expect(() => guesses.check('10.0.0.1', 'old', 0)).not.toThrow();
  });

  it('of a user are not forgotten for those of made-up names', () => {
    const guesses = new PasswordGuesses(isKnown);
    guessesOf('10.0.0.1', 'ops', guesses);
    for (let name = 0; name < 10_020; name++) guesses.wrong('10.0.0.1', `name ${name}`, 0);
    expect(() => guesses.check('10.0.0.1', 'ops', 0)).toThrow('Too many');
  });

  it('are logged once a second, with how many there were', () => {
    const lines = warnings();
    const guesses = new PasswordGuesses(isKnown);
    for (const now of [0, 1, 999, 1000, 1999]) guesses.wrong('10.0.0.1', 'o"\nps\u009b\u2028\u202e', now);
    expect(lines).toEqual([
      'audit {"action":"login-refused","user":"o\\"\\nps\\u009b\\u2028\\u202e","target":"10.0.0.1","instance":"","fn":"","count":1,"error":"NOT_LOGGED_IN"}',
      expect.stringContaining('"count":3'),
    ]);
  });

  it('are warned of for passwords under twelve characters, and less than eight are refused', () => {
    const lines = warnings();
    basicAuth({ users: { long: { password: 'x'.repeat(12) } } });
    expect(lines).toEqual([]);
    basicAuth({ users: { short: { password: 'x'.repeat(11) } } });
    expect(lines).toEqual([expect.stringContaining('The password of "short" has less than 12 characters')]);
    expect(lines[0]).not.toContain('xxx');
    expect(() => basicAuth({ users: { none: { password: 'x'.repeat(7) } } })).toThrow('8 characters');
  });
});
