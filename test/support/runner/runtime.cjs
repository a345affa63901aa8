/**
 * Loads suites into the process itself. Jest's own runtime, which isolated suites have, loads each module anew for each suite:
 * that took as long as the tests, and what is loaded anew is slow until it is compiled again.
 */
const { join } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const IsolatedRuntime = require('jest-runtime').default;

/** What scripts/typescript-hooks.mjs keeps. */
const kept = join(__dirname, '../../../node_modules/.cache/typescript');

/** As Jest reads them: the file of the map of a source. */
class SourceMaps extends Map {
  /** @param {string} source */
  get(source) {
    const path = source.startsWith('file:') ? fileURLToPath(source) : source;
    return path.endsWith('.ts') ? join(kept, `${path}.js.map`) : undefined;
  }
}

/** One for all suites, so that Jest reads each file once. */
const sourceMaps = new SourceMaps();

class SharedRuntime {
  /** Jest's circus keeps its state here. @param {string} path */
  requireInternalModule(path) {
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (/EVENT_HANDLERS|JEST_STATE/.test(String(symbol))) Reflect.deleteProperty(globalThis, symbol);
    delete require.cache[path];
    return require(path);
  }

  /** @param {string} path */
  requireModule(path) {
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** @param {object} globals */
  setGlobalsForRuntime(globals) {
    this.globals = globals;
  }

  /** @param {string} path */
  async unstable_importModule(path) {
    const { begin } = await import('./globals.mjs');
    begin(this.globals);
    await import(pathToFileURL(path).href);
  }

  getSourceMaps() {
    return sourceMaps;
  }

  enterTestCode() {}
  leaveTestCode() {}
  getAllCoverageInfoCopy() {}
  teardown() {}
}

exports.__esModule = true;
exports.default = class SuiteRuntime {
  /** @param {object} config @param {{ isShared?: boolean }} environment @param {unknown[]} rest */
  constructor(config, environment, ...rest) {
    return environment.isShared ? new SharedRuntime() : new IsolatedRuntime(config, environment, ...rest);
  }
};
