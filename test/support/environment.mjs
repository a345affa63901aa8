import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/** Those that were used since a suite began. */
const used = new Set();
const prototype = /** @type {any} */ (AsyncLocalStorage.prototype);
const enable = prototype._enable;
// Node before 24: each storage that was ever used costs every promise of the process time, and each suite loads its own.
if (enable)
  prototype._enable = function enabled() {
    used.add(this);
    return enable.call(this);
  };

/** The environment of all suites: nothing of one is left for the next one of its process. */
export default class SuiteEnvironment extends TestEnvironment {
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
}
