import { performance } from 'node:perf_hooks';

/** Milliseconds of real time, also when a test of the app has faked timers since: those of leases, and what is compared with them. */
export const realNow: () => number = performance.now.bind(performance);
