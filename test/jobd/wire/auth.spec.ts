import { describe, expect, it, jest } from '@jest/globals';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { authenticator, hashPassword } from '../../../lib/jobd/protocol/authentication.js';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { JobdConnection } from '../../../lib/jobd/protocol/connection.js';
import { eventually, until } from '../../support/until.js';
import { RawClient } from './raw-client.js';
import { useWorker } from './use-worker.js';

const PASSWORD = 'pässword; # "1"';
const poll = (no: number, password?: unknown) => JSON.stringify([0, { no, type: 'poll', password }]);
const ok = (no: number) => `[1,{"no":${no},"data":"ok"}]`;
/** As `jobctl hash-password` printed it. */
const HASH_OF_SECRET = 'scrypt:16384:8:1:uWmy_2rTYwLsylDsDQ5Xhw:-JtrGsLUrUMku0Tppno8p_lt75oguc5ETknfYQXV5R8';
const INVALID = '[1,{"no":7,"error":"invalid password"}]';

describe('a worker with a password', () => {
  const worker = useWorker({ options: { auth: { password: PASSWORD } } });

  it.each([
    ['without one', poll(7)],
    ['with a wrong one', poll(7, 'x')],
    ['with an empty one', poll(7, '')],
    ['with more than it', poll(7, `${PASSWORD}x`)],
    ['with an unknown type', '[0,{"no":7,"type":"X"}]'],
  ])('refuses a first request %s, drops what follows, and closes', async (_, first) => {
    const client = await worker.client();
    client.send(first, poll(8, PASSWORD), '[2]');
    await expect(client.ended()).resolves.toEqual([INVALID]);
  });

  it('checks the first request only', async () => {
    const client = await worker.client();
    await expect(client.answers(poll(1, PASSWORD), poll(2), poll(3, 'wrong'))).resolves.toEqual([
      ok(1),
      ok(2),
      ok(3),
    ]);
  });

  it('answers pings and malformed messages before it', async () => {
    const client = await worker.client();
    await expect(client.ask('[2]')).resolves.toEqual(['[3]']);
    await expect(client.answers('[0]', '5')).resolves.toEqual([
      '[1,{"no":0,"error":"malformed REQUEST message: data is not an object"}]',
      '[1,{"no":0,"error":"JSON array expected, got: 5"}]',
    ]);
    await expect(client.answers(poll(1, PASSWORD))).resolves.toEqual([ok(1)]);
  });

  it('accepts large requests only after the password was accepted', async () => {
    const client = await worker.client();
    const large = JSON.stringify([0, { no: 2, type: 'poll', data: 'x'.repeat(2 << 20) }]);
    await expect(client.answers(large)).resolves.toEqual([
      '[1,{"no":0,"error":"message is too large, more than 65536 bytes"}]',
    ]);
    await expect(client.answers(poll(1, PASSWORD), large)).resolves.toEqual([ok(1), ok(2)]);
  });
});

describe('a worker with a hashed password', () => {
  it.each([
    '',
    'scrypt',
    'scrypt:3:8:1:aaaaaaaaaaa:aaaaaaaaaaaaaaaaaaaaaa',
    'scrypt:4194304:99:1:aaaaaaaaaaa:aaaaaaaaaaaaaaaaaaaaaa',
  ])('refuses the hash %j at once', (hash) => {
    const make = () => authenticator({ passwordHash: hash || 'x' });
    expect(make).toThrow("'password_hash' must be a line that `jobctl hash-password` printed");
  });

  it('admits only peers with the password', async () => {
    const [one, other] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
    expect(one).not.toBe(other);
    expect(one).not.toContain(PASSWORD);
    const authenticate = authenticator({ passwordHash: one, password: 'for others' });
    await expect(authenticate?.(PASSWORD, '10.0.0.1')).resolves.toBe(true);
    await expect(authenticate?.('for others', '10.0.0.1')).resolves.toBe(false);
    expect(authenticate?.(undefined, '10.0.0.1')).toBe(false);
  });
});

describe('requests that wait for the verdict on a hashed password', () => {
  const worker = useWorker({ options: { auth: { passwordHash: HASH_OF_SECRET } } });

  it('are answered in order once it is given', async () => {
    const client = await worker.client();
    client.send(poll(1, 'secret'), '[2]', poll(2), '5');
    client.send(poll(3));
    await expect(client.take(5)).resolves.toEqual([
      ok(1),
      '[3]',
      ok(2),
      '[1,{"no":0,"error":"JSON array expected, got: 5"}]',
      ok(3),
    ]);
  });

  it('are dropped when it is bad', async () => {
    const client = await worker.client();
    client.send(poll(7, 'wrong'), '[2]', poll(8, 'secret'));
    await expect(client.ended()).resolves.toEqual([INVALID]);
  });
});

describe('always_allow_localhost', () => {
  it('accepts this machine without a password, under each of its addresses', () => {
    const authenticate = authenticator({ password: PASSWORD, allowLocalhost: true });
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      expect(authenticate?.(undefined, address)).toBe(true);
    }
    for (const address of ['127.0.0.2', '10.0.0.1', '::2', '::ffff:10.0.0.1', undefined]) {
      expect(authenticate?.(undefined, address)).toBe(false);
      expect(authenticate?.(PASSWORD, address)).toBe(true);
    }
  });

  it('checks nothing if there is no password', () => {
    expect(authenticator({})).toBeUndefined();
    expect(authenticator({ allowLocalhost: false })).toBeUndefined();
  });

  it.each(['password', 'passwordHash'])('refuses an empty %s', (name) => {
    for (const empty of ['', null]) {
      const make = () => authenticator({ [name]: empty });
      expect(make).toThrow(`'${name}' is there but empty: give it a value, or leave it out`);
    }
  });

  const worker = useWorker({ options: { auth: { password: PASSWORD, allowLocalhost: true } } });
  it('holds for connections', async () => {
    const client = await RawClient.connect(worker.port);
    await expect(client.answers(poll(1), poll(2, 'wrong'))).resolves.toEqual([ok(1), ok(2)]);
    client.close();
  });
});

describe('guesses at a hashed password', () => {
  const authenticate = authenticator({ passwordHash: HASH_OF_SECRET });

  it('of one address do not block those of another, and their number is limited', async () => {
    let looked = 0;
    let haveLeft = false;
    const guesses = Array.from({ length: 1000 }, async () => {
      const verdict = await authenticate?.('wrong', '10.0.0.1', () => haveLeft);
      looked++;
      return verdict;
    });
    const refusedUnseen = 950;
    await eventually(() => expect(looked).toBeGreaterThanOrEqual(refusedUnseen - 1));
    await expect(authenticate?.('secret', '10.0.0.2')).resolves.toBe(true);
    expect(looked).toBeLessThan(refusedUnseen + 10);
    haveLeft = true;
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([false]));
  });

  it('are not checked when their sender has left, or when they are longer than any password', async () => {
    expect(authenticate?.('x'.repeat(1025), '10.0.0.1')).toBe(false);
    const gone = Array.from({ length: 20 }, () => authenticate?.('secret', '10.0.0.1', () => true));
    await expect(Promise.all(gone)).resolves.toEqual(gone.map(() => false));
  });
});

describe('connections that have shown no password', () => {
  const worker = useWorker({ options: { auth: { password: PASSWORD } } });

  it('are limited in number: the oldest go, and those that have shown the password stay', async () => {
    const known = await worker.client();
    await expect(known.answers(poll(1, PASSWORD))).resolves.toEqual([ok(1)]);
    const first = await worker.client();
    for (let batch = 0; batch < 10; batch++)
      await Promise.all(Array.from({ length: 101 }, () => worker.client()));
    await until(() => first.hasEnded);
    await expect(known.answers(poll(2))).resolves.toEqual([ok(2)]);
    const last = await worker.client();
    await expect(last.answers(poll(3, PASSWORD))).resolves.toEqual([ok(3)]);
  });
});

describe('a connection without a password that begins a message and does not end it', () => {
  it('is closed, and one that sends nothing is not', async () => {
    const [near, far] = [new PassThrough(), [] as string[]];
    const socket = Object.assign(near, {
      setNoDelay: () => near,
      setKeepAlive: () => near,
    }) as unknown as Socket;
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
    try {
      const handlers = new Map();
      const connection = new JobdConnection(socket, { log: SILENT, handlers, authenticate: () => false });
      void connection.closed.then((reason) => far.push(reason));
      jest.advanceTimersByTime(3_600_000);
      expect(connection.hasEnded).toBe(false);
      near.emit('data', Buffer.from('[0,{'));
      jest.advanceTimersByTime(10_000);
      expect(connection.hasEnded).toBe(true);
    } finally {
      jest.useRealTimers();
    }
    await eventually(() => expect(far.length).toBeGreaterThan(0));
    expect(far).toEqual(['no end of a message within 10 s, before any password']);
  });
});
