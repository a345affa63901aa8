import { AsyncLocalStorage } from 'node:async_hooks';
import { register } from 'node:module';
import { clearTimeout, setTimeout } from 'node:timers';
import { TestEnvironment } from 'jest-environment-node';
import { restore } from './globals.mjs';

register('./hooks.mjs', import.meta.url);
// A worker whose Jest was ended would run on, with its servers.
if (process.send) process.once('disconnect', endWithJest).on('message', stopListening);

/** What jest-worker sends to a worker that is to end. */
const END_OF_WORK = 2;

function endWithJest() {
  process.exit(1);
}

/** Listeners keep the process alive, and Jest would kill it and complain. */
function stopListening([kind]) {
  if (kind !== END_OF_WORK) return;
  process.removeListener('disconnect', endWithJest);
  process.removeListener('message', stopListening);
}

/**
 * The environment of all suites. It is that of the process, where modules stay loaded for the next suite; a suite whose first
 * comment has `@isolated` gets a realm and modules of its own: one that fakes all timers, replaces modules, or looks at what
 * others would have left.
 */
export default class SuiteEnvironment {
  /** @param {import('@jest/environment').JestEnvironmentConfig} config @param {import('@jest/environment').EnvironmentContext} context */
  constructor(config, context) {
    return 'isolated' in context.docblockPragmas
      ? new IsolatedEnvironment(config, context)
      : new SharedEnvironment(context);
  }
}

/** The longest suite takes two, and its tests three at most. */
const HANGS_AFTER_MINUTES = 15;

/** Ends this process, and so the suite with an error, if that hangs where no time of a test runs out: as it loads, for example. */
function watch(/** @type {import('@jest/environment').EnvironmentContext} */ { testPath }) {
  const ends = () => {
    console.error(`${testPath} has not ended for ${HANGS_AFTER_MINUTES} minutes.`);
    process.kill(process.pid, 'SIGTERM');
  };
  return setTimeout(ends, HANGS_AFTER_MINUTES * 60_000).unref();
}

/** Of the stack of an error. */
const FRAMES = 25;

class SharedEnvironment {
  isShared = true;
  global = globalThis;
  fakeTimers = null;
  fakeTimersModern = null;
  console = globalThis.console;
  exit = process.exit;
  env = { ...process.env };

  /** @param {import('@jest/environment').EnvironmentContext} context */
  constructor(context) {
    this.suite = context;
  }

  getVmContext() {
    return null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  async setup() {
    this.watch = watch(this.suite);
    // Jest sets a hundred, which cost more than all else in tests that make many errors.
    Error.stackTraceLimit = FRAMES;
  }

  async teardown() {
    clearTimeout(this.watch);
    restore();
    globalThis.console = this.console;
    process.exit = this.exit;
    for (const name of Object.keys(process.env)) if (!(name in this.env)) delete process.env[name];
    Object.assign(process.env, this.env);
  }
}

/** Those that were used since an isolated suite began. @type {Set<AsyncLocalStorage<unknown>>} */
const used = new Set();
const prototype = /** @type {any} */ (AsyncLocalStorage.prototype);
const enable = prototype._enable;
// Node before 24: each storage that was ever used costs every promise of the process time, and each such suite loads its own.
if (enable)
  prototype._enable = function enabled() {
    used.add(this);
    return enable.call(this);
  };

class IsolatedEnvironment extends TestEnvironment {
  /** Those of the process, which stay. */
  others = new Set(used);

  /** @param {import('@jest/environment').JestEnvironmentConfig} config @param {import('@jest/environment').EnvironmentContext} context */
  constructor(config, context) {
    super(config, context);
    this.suite = context;
  }

  async setup() {
    this.watch = watch(this.suite);
    await super.setup();
  }

  async teardown() {
    clearTimeout(this.watch);
    await super.teardown();
    for (const storage of used) {
      if (this.others.has(storage)) continue;
      storage.disable();
      used.delete(storage);
    }
  }
}
