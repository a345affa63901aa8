import { HttpException } from '@nestjs/common';
import { GearMonkeyError } from '../job/errors.js';
import { excerpt } from '../job/secrets.js';
import { httpStatusOf } from '../nest/http-status.js';
import type { ApiError } from './api.js';
import { ApiFailure } from './dashboard-errors.js';

const MAX_MESSAGE = 1000;
/** Of errors that are about what is stored, which those who operate an app may see. */
const OF_DATA: ReadonlyMap<string, number> = new Map([['MALFORMED_SCHEDULE', 409]]);

/** The status and body for an error. */
export function answerTo(error: unknown): [number, ApiError] {
  if (error instanceof ApiFailure) return [error.status, { code: error.code, message: error.message }];
  if (error instanceof GearMonkeyError)
    return [
      httpStatusOf(error) ?? OF_DATA.get(error.code) ?? 500,
      { code: error.code, message: excerpt(said(error), MAX_MESSAGE) },
    ];
  if (error instanceof HttpException)
    return [error.getStatus(), { code: 'HTTP', message: excerpt(error.message, MAX_MESSAGE) }];
  return [500, { code: 'INTERNAL', message: 'The server could not answer. Its log says why.' }];
}

/** Those who operate an app can't change its code: without what it says to those who can. */
function said({ message }: GearMonkeyError): string {
  return message.replace(/ Check that (?:it|the server) is up\b.*$/s, '');
}
