/** What suites that share a process import as '@jest/globals'. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const fromJest = createRequire(require.resolve('jest-environment-node'));
const { ModuleMocker } = fromJest('jest-mock');
const { ModernFakeTimers } = fromJest('@jest/fake-timers');

/** @typedef {typeof import('@jest/globals')} Globals */

// Jest makes them anew for each suite.
/** @type {any} */
export let describe;
/** @type {any} */
export let it;
/** @type {any} */
export let test;
/** @type {any} */
export let beforeAll;
/** @type {any} */
export let beforeEach;
/** @type {any} */
export let afterAll;
/** @type {any} */
export let afterEach;
/** @type {any} */
export let expect;

/** Called before a suite is loaded. @param {any} globals */
export function begin(globals) {
  ({ describe, it, test, beforeAll, beforeEach, afterAll, afterEach, expect } = globals);
}

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ config: { fakeTimers: {} }, global: globalThis });

/** As far as suites use it; other parts of Jest's object need `@isolated`. */
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  useFakeTimers: (/** @type {object | undefined} */ options) => timers.useFakeTimers(options),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (/** @type {number} */ ms) => timers.advanceTimersByTime(ms),
  advanceTimersByTimeAsync: (/** @type {number} */ ms) => timers.advanceTimersByTimeAsync(ms),
  runAllTimersAsync: () => timers.runAllTimersAsync(),
  getTimerCount: () => timers.getTimerCount(),
};

/** What fake timers replace. */
const FAKED = [
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'],
  ...['queueMicrotask', 'Date'],
];
const REAL = Object.fromEntries(FAKED.map((name) => [name, Reflect.get(globalThis, name)]));

/** Called behind a suite. */
export function restore() {
  mocker.restoreAllMocks();
  timers.useRealTimers();
  // A spy on a fake timer puts that back, also behind `useRealTimers`: no wait of later suites would end, nor their time run out.
  Object.assign(globalThis, REAL);
}
