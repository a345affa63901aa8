import type { RunOptions } from './run.js';

/** The run of `npm test`: leases are short, so that a minute has room for all kinds of faults. */
export const SHORT_RUN: Omit<RunOptions, 'seed'> = {
  duration: 65_000,
  jobs: 20_000,
  lease: 2000,
  calm: 1200,
};
