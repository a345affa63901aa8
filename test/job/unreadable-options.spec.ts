import { afterEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { checkLimit, checkNumbers, defineLimit } from '../../lib/job/check-limit.js';
import { checkHeaders } from '../../lib/job/headers.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { checkOptions, optionNames } from '../../lib/job/known-options.js';
import type { LimitOptions } from '../../lib/job/limit.js';
import { checkRetry } from '../../lib/job/retry.js';
import { checkUnique } from '../../lib/job/unique.js';
import { embeddedServer, openEmbedded } from '../../lib/embedded/open-embedded.js';

const boom = new Error('boom');
const refuse = (): never => {
  throw boom;
};
const thrower = (name: string) => Object.defineProperty({}, name, { get: refuse, enumerable: true });
const failing = () => Promise.reject<never>(new Error('later'));
const server = embeddedServer('memory:');
const clientWith = (headers?: () => never) =>
  new GearMonkeyClient(openEmbedded(server).store, headers && { headers });
const given = (options: unknown) => options as never;

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

const GETTERS: readonly (readonly [string, string, (options: object) => unknown])[] = [
  ['defineJob', 'limit', (options) => defineJob('fn', given(options))],
  ['limit', 'key', (options) => checkLimit('fn', options)],
  ['limit', 'rate', (options) => defineJob('fn', { limit: given(options) })],
  ['limit.rate', 'max', (options) => checkLimit('fn', { rate: given(options) })],
  ['defineLimit', 'concurrency', (options) => defineLimit('shared', options)],
  ['setLimit', 'rate', (options) => checkNumbers('setLimit', options)],
  ['unique', 'key', (options) => checkUnique(given(options))],
  ['unique', 'debounce', (options) => checkUnique(given(options))],
  ['retry', 'attempts', (options) => checkRetry(options)],
  ['retry', 'backoff', (options) => clientWith().run('fn', 1, { retry: options })],
  ['unique', 'while', (options) => clientWith().run('fn', 1, { unique: given(options) })],
  ['run', 'expires', (options) => clientWith().run('fn', 1, options)],
  ['run', 'timeout', (options) => clientWith().call('fn', 1, options)],
  ['runMany', 'headers', (options) => clientWith().runMany('fn', [1], options)],
  ['update', 'input', (options) => clientWith().update('fn', 1, options)],
  ['drain', 'states', (options) => clientWith().drain('fn', options)],
  ['limits', 'size', (options) => clientWith().limits('fn', options)],
  ['setLimit', 'concurrency', (options) => clientWith().setLimit('fn', options)],
];

const NO_OPTIONS: readonly (readonly [string, () => unknown])[] = [
  ['a Promise', () => Promise.resolve({ priority: 'high' })],
  ['a Promise that fails', failing],
  ['a list', () => [1]],
  ['a Map', () => new Map([['priority', 'high']])],
  ['a Date', () => new Date()],
  ['text', () => 'high'],
  ['null', () => null],
  ['a proxy that refuses all', () => new Proxy({}, { ownKeys: refuse, has: refuse, get: refuse })],
];

afterEach(() => {
  unhandled.length = 0;
  process.off('unhandledRejection', note);
});

/** Until rejections without a handler have been reported. */
async function expectNoneUnhandled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
}

describe('An option', () => {
  it.each(GETTERS)('whose getter throws is named: %s, %s', async (user, name, take) => {
    const taking = (async () => take(thrower(name)))();
    await expect(taking).rejects.toMatchObject({ code: 'CONFIGURATION', cause: boom });
    await expect(taking).rejects.toThrow(`The option \`${name}\` of ${user} can't be read: boom`);
    expect(server.run('EXISTS', ['uid:fn'])).toBe(0);
  });

  it('is read once', () => {
    let reads = 0;
    const options = {
      get key() {
        reads += 1;
        return reads === 1 ? 'a' : 5;
      },
    };
    expect(checkUnique(given(options)).keyOf(1)).toBe('a');
    expect(reads).toBe(1);
  });

  it('may be a getter of a class', () => {
    class Settings {
      get attempts() {
        return 3;
      }
    }
    expect(checkRetry(new Settings())).toEqual({ attempts: 3 });
  });
});

describe('Options that are no object', () => {
  it.each(NO_OPTIONS)('are refused: %s', async (_, make) => {
    process.on('unhandledRejection', note);
    const refused = { code: 'CONFIGURATION' };
    expect(() => checkOptions('run', given(make()), optionNames<{ a: 1 }>({ a: true }))).toThrow(
      expect.objectContaining(refused),
    );
    await expect(clientWith().run('fn', 1, given(make()))).rejects.toMatchObject(refused);
    await expect(clientWith().runMany('fn', [1], given(make()))).rejects.toMatchObject(refused);
    await expect(clientWith().run('fn', 1, { unique: given(make()) })).rejects.toMatchObject(refused);
    await expect(clientWith().setLimit('fn', given(make()))).rejects.toMatchObject(refused);
    await expect(clientWith().update('fn', 1, given(make()))).rejects.toMatchObject(refused);
    await expectNoneUnhandled();
    expect(server.run('EXISTS', ['uid:fn'])).toBe(0);
  });
});

describe('A function that must not be async', () => {
  const cases: [string, () => Promise<unknown>, string][] = [
    [
      'limit.key',
      () => clientWith().run(defineJob('fn', { limit: { key: failing as never, concurrency: 1 } }), 1),
      'it must not be async',
    ],
    [
      'unique.key',
      () => clientWith().run('fn', 1, { unique: { key: failing as never } }),
      'Expected `unique.key` to be text: the function must not be async, got a Promise',
    ],
    ['headers', () => clientWith(failing as never).run('fn', 1), 'must not be async, got a Promise'],
    [
      'unique.key of many',
      () => clientWith().runMany('fn', [1], { unique: { key: failing as never } }),
      'async',
    ],
  ];

  it.each(cases)('is refused, and what it rejects with is handled: %s', async (_, run, message) => {
    process.on('unhandledRejection', note);
    await expect(run()).rejects.toThrow(message);
    await expectNoneUnhandled();
    expect(server.run('EXISTS', ['uid:fn'])).toBe(0);
  });

  it.each(['priority', 'scheduled', 'delay', 'timeout', 'expires', 'headers', 'jobTimeout'])(
    'is refused as `%s`: a Promise has no value yet',
    async (name) => {
      process.on('unhandledRejection', note);
      const options = { [name]: failing() } as unknown as RunOptions;
      await expect(clientWith().run('fn', 1, options)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      await expectNoneUnhandled();
      expect(server.run('EXISTS', ['uid:fn'])).toBe(0);
    },
  );
});

describe('Headers', () => {
  it('that can not be read are refused with the cause', () => {
    const refused = { code: 'INVALID_OPTION', option: 'headers', cause: boom };
    expect(() => checkHeaders(thrower('tenant'))).toThrow(expect.objectContaining(refused));
    expect(() => checkHeaders(new Proxy({}, { ownKeys: refuse }))).toThrow(expect.objectContaining(refused));
  });

  it('are counted in bytes', () => {
    expect(() => checkHeaders({ tenant: 'é'.repeat(4096) })).toThrow('at most 8192 bytes as JSON');
    expect(checkHeaders({ tenant: 'é'.repeat(4080) })).toBeDefined();
  });
});

describe('A key of a limit', () => {
  const keyOf = (key: unknown) =>
    checkLimit('fn', { key: () => key, concurrency: 1 } as LimitOptions).keyOf(1);

  it('is counted in bytes', () => {
    expect(keyOf('é'.repeat(127))).toHaveLength(127);
    expect(() => keyOf('é'.repeat(128))).toThrow('text of 256 bytes');
    expect(keyOf('🔑'.repeat(63))).toHaveLength(126);
    expect(() => keyOf('🔑'.repeat(64))).toThrow('text of 256 bytes');
  });
});
