const DEFAULT_REST_MS = 1000;
const LONGEST_REST_MS = 5 * 60 * 1000;

/** Milliseconds; `Retry-After` holds seconds or a date. */
export function restOf(header: string | string[] | undefined, now: number): number {
  if (typeof header !== 'string') return DEFAULT_REST_MS;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? DEFAULT_REST_MS : Math.min(Math.max(ms, 0), LONGEST_REST_MS);
}
