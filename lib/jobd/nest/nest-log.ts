import { Logger } from '@nestjs/common';
import type { JobdLog } from '../vocabulary/log.js';

/** The log of an app. */
export function nestLog(): JobdLog {
  const logger = new Logger('Jobd');
  return {
    debug: (message) => logger.debug(message),
    info: (message) => logger.log(message),
    warn: (message) => logger.warn(message),
    error: (message) => logger.error(message),
  };
}
