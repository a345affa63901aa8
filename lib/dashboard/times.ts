import { ApiFailure } from './dashboard-errors.js';

/** A time of a request. @throws ApiFailure 400 */
export function dateOf(name: string, given: unknown): Date | undefined {
  if (given === undefined) return undefined;
  const date = typeof given === 'string' ? new Date(given) : undefined;
  if (!date || Number.isNaN(date.getTime())) throw ApiFailure.invalid(name, 'a time in ISO 8601');
  return date;
}
