const DEFAULT_REST_MS = 1000;
/** The shortest wait, for any value of the header. */
const SHORTEST_REST_MS = 100;
const LONGEST_REST_MS = 5 * 60 * 1000;

/** Milliseconds; `Retry-After` holds seconds or a date. */
export function restOf(header: string | string[] | undefined, now: number): number {
  if (typeof header !== 'string') return DEFAULT_REST_MS;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  if (Number.isNaN(ms)) return DEFAULT_REST_MS;
  return Math.min(Math.max(ms, SHORTEST_REST_MS), LONGEST_REST_MS);
}
