import type { ActRequest } from './api.js';
import { ApiFailure } from './dashboard-errors.js';

/** The input of a request; null without one. @throws ApiFailure 400 */
export function inputOf({ input }: ActRequest): unknown {
  if (input === undefined) return null;
  try {
    return JSON.parse(input);
  } catch {
    throw ApiFailure.invalid('input', 'JSON');
  }
}
