import { nestLog } from '../../nest/nest-log.js';
import type { JobdLog } from '../vocabulary/log.js';

/** The log of an app. */
export function jobdLog(): JobdLog {
  const { debug, log: info, warn, error } = nestLog('Jobd');
  return { debug, info, warn, error };
}
