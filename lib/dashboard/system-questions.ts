import { Logger } from '@nestjs/common';
import { withDeadline } from '../job/clock.js';
import { stackOf } from '../job/error-info.js';
import { GearMonkeyError } from '../job/errors.js';
import { excerpt } from '../job/secrets.js';
import { httpStatusOf } from '../nest/http-status.js';
import { ApiFailure } from './dashboard-errors.js';

const TIMEOUT_MS = 5000;
const MAX_MESSAGE = 1000;
const log = new Logger('Dashboard');

/**
 * Asks qless, JQ or jobd. Their errors are those of something behind this server, and those of drivers may name addresses.
 *
 * @throws ApiFailure 502, 503, and what has a status of its own
 */
export async function askSystem<T>(ask: () => Promise<T>): Promise<T> {
  const late = () => new ApiFailure(503, 'NO_ANSWER', `No answer within ${TIMEOUT_MS} ms.`);
  try {
    return await withDeadline(ask(), TIMEOUT_MS, late);
  } catch (error) {
    if (error instanceof ApiFailure || httpStatusOf(error) !== undefined) throw error;
    if (error instanceof GearMonkeyError)
      throw new ApiFailure(502, error.code, excerpt(error.message, MAX_MESSAGE));
    log.warn(stackOf(error));
    throw new ApiFailure(503, 'NO_ANSWER', 'The system could not be asked. The log of the server says why.');
  }
}
