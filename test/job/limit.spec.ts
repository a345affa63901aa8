import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { checkLimit, checkNumbers, defineLimit } from '../../lib/job/check-limit.js';
import { MAX_SPAN_MS } from '../../lib/job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../../lib/job/errors.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { LimitNumbers, LimitOptions } from '../../lib/job/limit.js';
import { HoldKeyError, LimitFullError, LimitKeyError } from '../../lib/job/limit-errors.js';
import { bindHandler } from '../../lib/worker/job-handler.js';

const openai = defineLimit('openai', { concurrency: 3, rate: { max: 10, per: '1s' } });
const rate = { max: 10, per: 1000 };
const bad = (options: object) => options as LimitOptions;

const NUMBERS: readonly (readonly [string, object])[] = [
  ['concurrency', { concurrency: 0 }],
  ['concurrency', { concurrency: -1 }],
  ['concurrency', { concurrency: 1.5 }],
  ['concurrency', { concurrency: Infinity }],
  ['concurrency', { concurrency: '2' }],
  ['concurrency', { concurrency: null }],
  ['rate.max', { rate: { max: 0, per: '1s' } }],
  ['rate.max', { rate: { max: 0.5, per: '1s' } }],
  ['rate.max', { rate: { max: 100_001, per: '1s' } }],
  ['rate.max', { rate: { per: '1s' } }],
  ['rate.per', { rate: { max: 1 } }],
  ['rate.per', { rate: { max: 1, per: 0 } }],
  ['rate.per', { rate: { max: 1, per: 0.5 } }],
  ['rate.per', { rate: { max: 1, per: '1' } }],
  ['rate.per', { rate: { max: 1, per: MAX_SPAN_MS + 1 } }],
];

const OPTIONS: readonly (readonly [string, object])[] = [
  ...NUMBERS.map(([option, numbers]) => [`limit.${option}`, numbers] as const),
  ['limit.key', { key: 'tenant', concurrency: 1 }],
  ['limit.key', { key: null, concurrency: 1 }],
  ['limit.order', { order: 'random', concurrency: 1 }],
  ['limit.onFull', { onFull: 'drop', concurrency: 1 }],
  ['limit.onFull', { onFull: null, concurrency: 1 }],
  ['limit.replace', { onFull: 'replace', replace: 'all', concurrency: 1 }],
  ['limit.replace', { replace: 'running', concurrency: 1 }],
  ['limit.replace', { onFull: 'refuse', replace: 'waiting', concurrency: 1 }],
  ['limit.concurrency', { order: 'strict', concurrency: 2 }],
  ['limit', {}],
  ['limit', { key: () => 'a', onFull: 'refuse', order: 'fair' }],
  ['limit.shared', { shared: { name: 'openai', concurrency: 1 } }],
  ['limit.shared', { shared: 'openai' }],
  ['limit.shared', { shared: null }],
  ['limit.concurrency', { shared: openai, concurrency: 1 }],
  ['limit.rate', { shared: openai, rate }],
];

const UNKNOWN: readonly (readonly [string, unknown])[] = [
  ['limit has no option `concurency`. Did you mean `concurrency`?', { concurency: 1 }],
  ['limit has no option `name`', { name: 'openai', concurrency: 1 }],
  ['limit.rate has no option `duration`', { rate: { max: 1, duration: 1 } }],
  ['The options of limit are not an object', 5],
  ['The options of limit are not an object', null],
  ['The options of limit are not an object', ['a']],
  ['The options of limit.rate are not an object', { rate: 5 }],
];

describe('A limit', () => {
  it.each(OPTIONS)('with a bad `%s` is refused: %p', (option, options) => {
    for (const make of [
      () => defineJob('fn', { limit: bad(options) }),
      () => bindHandler({ name: 'fn' }, { limit: bad(options) }, () => 1),
    ]) {
      expect(make).toThrow(InvalidOptionError);
      expect(make).toThrow(`Expected \`${option}\` to be`);
    }
  });

  it.each(UNKNOWN)('is refused: %s', (message, options) => {
    for (const make of [
      () => defineJob('fn', { limit: options as LimitOptions }),
      () => bindHandler({ name: 'fn' }, { limit: options as LimitOptions }, () => 1),
    ]) {
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(message);
    }
  });

  it('is checked, with milliseconds and defaults', () => {
    const limit = checkLimit('fn', { concurrency: 2, rate: { max: 5, per: '1m' } });
    expect(limit).toMatchObject({ onFull: 'wait', replace: 'waiting', isKeyed: false });
    expect(limit.rules).toEqual({ concurrency: 2, rate: { max: 5, per: 60_000 }, order: 'fair' });
    expect(limit.keyOf('any')).toBe('');
    expect([limit, limit.rules, limit.rules.rate].every(Object.isFrozen)).toBe(true);
  });

  it.each<[string, LimitOptions, object]>([
    ['only an order', { order: 'strict' }, { order: 'strict' }],
    [
      'the one place of a strict order',
      { order: 'strict', concurrency: 1 },
      { order: 'strict', concurrency: 1 },
    ],
    ['only a rate', { rate }, { order: 'fair', rate }],
    [
      'the longest span',
      { rate: { max: 100_000, per: MAX_SPAN_MS } },
      { rate: { max: 100_000, per: MAX_SPAN_MS } },
    ],
    ['options that are undefined', { concurrency: 1, rate: undefined, key: undefined }, { concurrency: 1 }],
  ])('may have %s', (_, options, rules) => {
    expect(checkLimit('fn', options).rules).toMatchObject(rules);
  });

  it('may be a shared one, with or without a key', () => {
    const rules = { concurrency: 3, rate, order: 'fair', shared: 'openai' };
    expect(checkLimit('fn', openai).rules).toEqual(rules);
    const keyed = checkLimit('fn', { shared: openai, key: String, onFull: 'refuse' });
    expect(keyed).toMatchObject({ rules, onFull: 'refuse', isKeyed: true });
    expect(checkLimit('fn', { shared: openai, order: 'strict' }).rules.order).toBe('strict');
  });

  it('of a handler goes before that of the definition, and has its keys unless it names others', () => {
    const definition = defineJob<string>('fn', { limit: { key: (input) => input, concurrency: 1 } });
    const limitOf = (limit?: LimitOptions<string>) =>
      bindHandler(definition, { limit }, () => 1).limits.limit;
    expect(limitOf()).toBe(definition.limit);
    expect(limitOf({ concurrency: 9 })?.rules).toEqual({ concurrency: 9, order: 'fair' });
    expect(limitOf({ concurrency: 9 })?.keyOf('acme')).toBe('acme');
    expect(limitOf({ concurrency: 9, key: (input) => `${input}!` })?.keyOf('acme')).toBe('acme!');
  });

  it('is shown without the source of its functions', () => {
    const job = defineJob<string>('fn', { limit: { key: (input) => `secret ${input}`, concurrency: 1 } });
    for (const shown of [inspect(job, { depth: 5 }), JSON.stringify(job)]) {
      expect(shown).toContain('concurrency');
      expect(shown).not.toMatch(/secret|=>|keyOf/);
    }
    expect(inspect(openai)).toBe(
      "SharedLimit { name: 'openai', concurrency: 3, rate: { max: 10, per: 1000 } }",
    );
  });
});

describe('defineLimit', () => {
  it('makes a frozen limit with its name and numbers', () => {
    expect({ ...openai }).toEqual({ name: 'openai', concurrency: 3, rate });
    expect(Object.isFrozen(openai)).toBe(true);
  });

  it.each(NUMBERS)('refuses a bad `%s`: %p', (option, numbers) => {
    expect(() => defineLimit('openai', numbers)).toThrow(`Expected \`${option}\` to be`);
  });

  it.each([[''], ['a b'], ['x'.repeat(201)], ['a{b'], ['\ud800'], [7], [undefined]])(
    'refuses the name %p',
    (name) => {
      expect(() => defineLimit(name as string, { concurrency: 1 })).toThrow(InvalidOptionError);
    },
  );

  it('refuses no numbers, and unknown options', () => {
    expect(() => defineLimit('openai', {})).toThrow('given `concurrency`, `rate` or both');
    expect(() => defineLimit('openai', { order: 'strict' } as LimitNumbers)).toThrow(ConfigurationError);
    expect(() => checkNumbers('setLimit', {})).toThrow('Expected `setLimit` to be given');
  });
});

describe('The key of a job', () => {
  const keyOf = (key: (input: unknown) => unknown, input: unknown = 'x') =>
    checkLimit('mail', { key: key as () => string, concurrency: 1 }).keyOf(input);

  it('is what `key` makes of its input', () => {
    expect(keyOf((input) => `${String(input)}:1`, 'acme')).toBe('acme:1');
    expect(keyOf(() => 'é'.repeat(127))).toHaveLength(127);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', {}],
    ['an empty text', ''],
    ['256 bytes', 'x'.repeat(256)],
    ['256 bytes of fewer characters', 'é'.repeat(128)],
    ['half a character', '\ud800'],
    ['a Promise', Promise.resolve('a')],
    ['a Promise that rejects', Promise.reject(new Error('late'))],
  ])('can’t be %s', (_, key) => {
    expect(() => keyOf(() => key)).toThrow(LimitKeyError);
    expect(() => keyOf(() => key)).toThrow(
      /^`limit.key` of "mail" returned .+\. Return text of 1 to 255 bytes/,
    );
  });

  it('can’t be made when `key` throws, which is the cause', () => {
    const cause = new TypeError('no tenant');
    const make = () =>
      keyOf(() => {
        throw cause;
      });
    expect(make).toThrow('`limit.key` of "mail" threw: no tenant. Return text');
    expect(make).toThrow(expect.objectContaining({ code: 'LIMIT_KEY', fn: 'mail', cause }));
  });
});

describe('The errors of limits', () => {
  it('say when a full limit takes the next job, if that is known', () => {
    const until = new Date('2030-01-01T00:00:00Z');
    expect(new LimitFullError('mail', 'acme', until)).toMatchObject({
      key: 'acme',
      until,
      message:
        'The limit of the key "acme" of "mail" is reached. Enqueue the job again after 2030-01-01T00:00:00.000Z, ' +
        "or let it wait: `onFull: 'wait'`.",
    });
    const unknown = new LimitFullError('mail', '');
    expect(unknown.message).toMatch(
      /^The limit of "mail" is reached\. Enqueue the job again when others have finished/,
    );
    expect(unknown.until).toBeUndefined();
  });

  it.each([[-1], ['soon'], [Number.NaN], [undefined]])('refuse to hold a key for %p', (span) => {
    expect(() => new HoldKeyError(span as number)).toThrow(InvalidOptionError);
  });
});
