import { JobdSource } from '../source/jobd-source.js';
import type { JobdSourceOptions } from '../source/source-options.js';
import { jobdLog } from './jobd-log.js';

/**
 * Rows of a table of jobs for the handlers of an instance: `source: jobd({ database, targets: ['low'] })`.
 * The handler of `@Worker('low')` gets the row.
 *
 * @throws InvalidOptionError
 */
export function jobd(options: JobdSourceOptions): JobdSource {
  return new JobdSource({ log: jobdLog(), ...options });
}
