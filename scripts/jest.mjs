const typescript = new URL('./typescript.mjs', import.meta.url).href;

/** Arguments of Node that run Jest. Suites make much that is soon garbage: with more room for it, they need a tenth less of the processor. */
export const JEST = [
  '--experimental-vm-modules',
  '--max-semi-space-size=64',
  // Suites that share a process are loaded by Node: test/support/runner.
  ...['--import', typescript],
  'node_modules/jest/bin/jest.js',
];
