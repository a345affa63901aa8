import { availableParallelism } from 'node:os';

import { swcOptions } from './scripts/swc-options.mjs';

export default {
  // Suites share the modules of their process, but those with `@isolated`: test/support/runner/environment.mjs.
  testEnvironment: './test/support/runner/environment.mjs',
  runtime: './test/support/runner/runtime.cjs',
  injectGlobals: false,
  roots: ['<rootDir>/test'],
  // What `npm test` leaves out: scripts/test.mjs.
  testMatch: ['**/*.spec.ts', '**/*.full.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', swcOptions],
  },
  moduleNameMapper: {
    '^nestjs-gearmonkey$': '<rootDir>/lib/index.ts',
    '^nestjs-gearmonkey/(\\w+)$': '<rootDir>/lib/$1/index.ts',
    // The same code in one file instead of two hundred, which every suite would load.
    '^rxjs$': '<rootDir>/node_modules/rxjs/dist/bundles/rxjs.umd.js',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  // For tests that hang. All waits end earlier, also on a busy machine, and show what they saw last: test/support/until.ts.
  testTimeout: 180_000,
  globalSetup: './test/support/start-servers.mjs',
  globalTeardown: './test/support/stop-servers.mjs',
  testSequencer: './test/support/longest-first.mjs',
  // Suites wait for servers and leases three fifths of their time: with three more of them than cores, the cores are busy. With many
  // more, processes wait so long for a core that connections count as dead.
  maxWorkers: availableParallelism() + 3,
  // Modules of suites that are over stay in memory, and the larger a process, the longer it takes to start another.
  workerIdleMemoryLimit: '800MB',
};
