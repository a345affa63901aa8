const typescript = new URL('./typescript.mjs', import.meta.url).href;

/**
 * Arguments of Node that run Jest. Suites make much that is soon garbage, and run each line few times: with more room for the
 * one, in one thread, and with the other compiled at once, they need a fifth less of the processor.
 */
export const JEST = [
  '--experimental-vm-modules',
  '--max-semi-space-size=64',
  '--single-threaded-gc',
  '--always-sparkplug',
  // Suites that share a process are loaded by Node: test/support/runner.
  ...['--import', typescript],
  'node_modules/jest/bin/jest.js',
];
