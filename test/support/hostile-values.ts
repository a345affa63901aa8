import { runInNewContext } from 'node:vm';

/** An odd value, made for each use, and its description. */
export type HostileValue = readonly [what: string, make: () => unknown];

/** What no stored error and no log line may show, wherever it stood. */
export const SECRET = 'hunter2';

/** Longer than any text that is kept whole. */
const HUGE = 300_000;

const refuse = (): never => {
  throw new Error('not to be looked at');
};

const evilProxy = (): object =>
  new Proxy(
    {},
    {
      get: refuse,
      has: refuse,
      ownKeys: refuse,
      getPrototypeOf: refuse,
      getOwnPropertyDescriptor: refuse,
    },
  );

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function circle(): Record<string, unknown> {
  const round: Record<string, unknown> = { name: 'Round', message: 'round' };
  round['self'] = round;
  round['cause'] = round;
  return round;
}

function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

function chain(length: number): Error {
  let error = new Error('the first cause');
  for (let link = 0; link < length; link++) error = new Error(`link ${link}`, { cause: error });
  return error;
}

const getter = (key: string): object => Object.defineProperty(new Error('fine'), key, { get: refuse });
const errorWith = (parts: object): Error => Object.assign(new Error('said'), parts);
/** An own property also where the prototype has an accessor. */
const errorOf = (key: string, value: unknown): Error =>
  Object.defineProperty(new Error('said'), key, { value });
const bare = (parts: object): object => Object.assign(Object.create(null) as object, parts);
const foreign = (code: string): unknown => runInNewContext(code) as unknown;

const TEXTS: readonly HostileValue[] = [
  ['empty text', () => ''],
  ['control characters', () => 'a\0b\u0007\u001b[31mc\r\n\u2028d\u009b'],
  ['lone surrogates', () => 'a\ud800b\udc00c'],
  ['huge text', () => 'x'.repeat(HUGE)],
  ['huge text of wide characters', () => '🐒'.repeat(HUGE / 2)],
  ['a URL with a password', () => `no answer from postgres://app:${SECRET}@db/jobs`],
  ['a URL with a password that has slashes', () => `redis://:${SECRET}/${SECRET}@localhost:6379/0 refused`],
  ['a URL with a token', () => `GET https://api.example/v1?user=7&access_token=${SECRET}#x failed`],
];

const PLAIN: readonly HostileValue[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['NaN', () => Number.NaN],
  ['negative zero', () => -0],
  ['a bigint', () => 10n],
  ['a huge bigint', () => 10n ** 5000n],
  ['a symbol', () => Symbol('s'.repeat(1000))],
  ['a function', () => () => SECRET],
  ['a class', () => class Thrown {}],
];

const OBJECTS: readonly HostileValue[] = [
  ['an array', () => [1, [2]]],
  ['a deep array', () => nested(100_000)],
  ['an object without a prototype', () => bare({ a: 1 })],
  ['an error-like object without a prototype', () => bare({ name: 'Bare', message: 'bare' })],
  ['a frozen object', () => Object.freeze({ name: 'Frozen', message: 'frozen' })],
  ['an object with a bigint', () => ({ name: 'Meta', message: 'meta', meta: { id: 10n } })],
  ['a circle', circle],
  [
    'throwing getters',
    () => ({
      get name() {
        return refuse();
      },
      get message() {
        return refuse();
      },
    }),
  ],
  ['a throwing toJSON', () => ({ name: 'Json', message: 'json', toJSON: refuse })],
  ['a throwing toString', () => ({ toString: refuse, [Symbol.toPrimitive]: refuse })],
  ['a toJSON without an answer', () => ({ toJSON: () => undefined })],
  ['a proxy that refuses all', evilProxy],
  ['a revoked proxy of an object', () => revoked({})],
  ['a revoked proxy of an array', () => revoked([])],
  ['a revoked proxy of a function', () => revoked(() => 1)],
  ['a Map', () => new Map([[{}, 1n]])],
  ['a Date that is none', () => new Date(Number.NaN)],
  ['bytes', () => new Uint8Array([0, 255])],
  ['an ArrayBuffer', () => new ArrayBuffer(8)],
  ['a DataView', () => new DataView(new ArrayBuffer(8))],
  ['shared bytes', () => new Uint8Array(new SharedArrayBuffer(8))],
  ['a WeakRef', () => new WeakRef({})],
  ['an AbortSignal', () => AbortSignal.abort()],
];

const ERRORS: readonly HostileValue[] = [
  ['an error without a message', () => new Error()],
  ['an error whose message is undefined', () => errorWith({ message: undefined })],
  ['an error whose message is an array', () => errorWith({ message: ['one', 'two'] })],
  ['an error whose message is a circle', () => errorWith({ message: circle() })],
  ['an error whose message is a symbol', () => errorWith({ message: Symbol('m') })],
  ['an error whose message is huge', () => new Error('x'.repeat(HUGE))],
  ['an error whose message has surrogates', () => new Error('a\ud800')],
  ['an error whose message has a password', () => new Error(`postgres://app:${SECRET}@db/x`)],
  ['an error whose cause has a password', () => new Error('x', { cause: `amqp://a:${SECRET}@mq` })],
  ['an error whose name is an object', () => errorOf('name', {})],
  ['an error whose name is empty', () => errorOf('name', '')],
  ['an error whose name is huge', () => errorOf('name', 'N'.repeat(HUGE))],
  ['an error whose code is huge', () => errorOf('code', 'C'.repeat(HUGE))],
  ['an error whose code is a bigint', () => errorOf('code', 7n)],
  ['an error whose stack is an array', () => errorOf('stack', [1n])],
  ['an error whose stack is huge', () => errorOf('stack', `x\n${'    at y\n'.repeat(HUGE / 10)}`)],
  ['an error without a stack', () => errorOf('stack', undefined)],
  ['an error whose cause is null', () => new Error('x', { cause: null })],
  ['an error whose cause is a bigint', () => new Error('x', { cause: { name: 'B', message: 'b', n: 1n } })],
  [
    'an error whose cause is itself',
    () =>
      Object.defineProperty(new Error('x'), 'cause', {
        get() {
          return this;
        },
      }),
  ],
  ['an error whose cause is a proxy', () => new Error('x', { cause: evilProxy() })],
  ['a long chain of causes', () => chain(1000)],
  ['an error whose message throws', () => getter('message')],
  ['an error whose stack throws', () => getter('stack')],
  ['an error whose cause throws', () => getter('cause')],
  ['a frozen error', () => Object.freeze(new Error('frozen'))],
  ['an AggregateError without a message', () => new AggregateError([new Error('first'), 'second', 3n])],
  [
    'an AggregateError of itself',
    () => {
      const round = new AggregateError([], '');
      round.errors.push(round, evilProxy());
      return round;
    },
  ],
  [
    'an AggregateError of very many',
    () => new AggregateError(Array.from({ length: 10_000 }, () => new Error('one'))),
  ],
  ['an AggregateError whose errors are none', () => errorOf('errors', 7)],
  ['an error of another realm', () => foreign("new RangeError('elsewhere')")],
  ['an AggregateError of another realm', () => foreign("new AggregateError([new Error('elsewhere')])")],
  ['an object of another realm', () => foreign("({ name: 'Far', message: 'far', big: 1n })")],
  [
    'a subclass that hides its message',
    () =>
      new (class Silent extends Error {
        override get message(): string {
          return refuse();
        }
      })(),
  ],
  ['a DOMException', () => new DOMException('gone', 'AbortError')],
];

/** All that can be thrown, returned or rejected with: each must end as one job's outcome, and touch no other job. */
export const HOSTILE_VALUES: readonly HostileValue[] = [...TEXTS, ...PLAIN, ...OBJECTS, ...ERRORS];
