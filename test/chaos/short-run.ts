import type { RunOptions } from './run.js';

/** The run of `npm run test:full`: leases are short, so that half a minute has room for all kinds of faults. */
export const SHORT_RUN: Omit<RunOptions, 'seed'> = {
  duration: 28_000,
  jobs: 6000,
  lease: 2000,
  calm: 500,
  calls: { burst: 1000, every: 10_000 },
  largest: 256 * 1024,
};
