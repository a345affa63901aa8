import { availableParallelism, loadavg } from 'node:os';

/**
 * Milliseconds, without a fraction, that something may take here and now which takes so long at most on a machine with
 * nothing else to do. Twice what the load alone would ask for: it is an average of the last minute.
 */
export function onThisMachine(ms: number): number {
  const [load = 0] = loadavg();
  return Math.ceil(ms * Math.max(1, (2 * load) / availableParallelism()));
}
