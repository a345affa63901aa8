import { Observable, concat, of, throwError } from 'rxjs';
import { progress } from '../../lib/job/job.js';
import type { JobHandler } from '../../lib/worker/job-handler.js';
import { HOSTILE_VALUES } from './hostile-values.js';

/** A handler that does what no handler should, by what that is. */
export type HostileHandler = readonly [what: string, handle: JobHandler];

const refuse = (): never => {
  throw new Error('out of order');
};
const nextOf = (next: () => unknown, more: object = {}) => ({
  [Symbol.asyncIterator]: refuse,
  next,
  ...more,
});

/* oxlint-disable unicorn/no-thenable -- handlers may return what they like */
const SHAPES: readonly HostileHandler[] = [
  ['returns a thenable whose then throws', () => ({ then: refuse })],
  ['returns an object whose then cannot be read', () => Object.defineProperty({}, 'then', { get: refuse })],
  [
    'returns a thenable that answers twice and throws',
    () => ({
      then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
        resolve('first');
        reject(new Error('second'));
        refuse();
      },
    }),
  ],
  ['rejects with nothing', () => Promise.reject()],
  ['is an async iterator without return that throws', () => nextOf(refuse)],
  ['is an async iterator whose return throws', () => nextOf(refuse, { return: refuse })],
  ['is an async iterator whose return rejects', () => nextOf(refuse, { return: () => Promise.reject(1n) })],
  ['is an async iterator that gives no result', () => nextOf(() => undefined)],
  [
    'is a generator that yields a rejection',
    function* () {
      yield Promise.reject(new Error('yielded'));
      return 'never';
    },
  ],
  [
    'is a generator that throws',
    function* () {
      yield progress(1, 2);
      throw { name: 'Meta', message: 'meta', id: 1n };
    },
  ],
  [
    'is a generator whose progress is none',
    async function* () {
      yield progress(Number.NaN, 0);
    },
  ],
  [
    'is an Observable that fails with a bigint',
    () =>
      concat(
        of(1, progress(1, 2)),
        throwError(() => 1n),
      ),
  ],
  ['is an Observable that cannot be subscribed to', () => new Observable(refuse)],
  [
    'is an Observable whose teardown throws',
    () =>
      new Observable((observer) => {
        observer.next('out');
        observer.complete();
        return refuse;
      }),
  ],
  ['is an Observable whose last value has no JSON', () => of(1n)],
  [
    'is observable for rxjs, and gives no subscription',
    () => ({
      lift: refuse,
      subscribe: ({ complete }: { complete: () => void }) => complete(),
    }),
  ],
  [
    'reports progress behind its own back',
    (_, job) => {
      void job.update(Number.NaN, 1);
      setImmediate(() => void job.update(1, 2));
      return 'out';
    },
  ],
];

/** Everything that a handler can throw, return or be. */
export const HOSTILE_HANDLERS: readonly HostileHandler[] = [
  ...HOSTILE_VALUES.map(([what, make]): HostileHandler => [
    `throws ${what}`,
    () => {
      throw make();
    },
  ]),
  ...HOSTILE_VALUES.map(([what, make]): HostileHandler => [`returns ${what}`, make]),
  ...SHAPES,
];
