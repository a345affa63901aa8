/** The longest Idempotency-Key. */
export const LONGEST_KEY = 255;

/** Visible ASCII, which every header can carry unchanged. */
export function isIdempotencyKey(key: unknown): key is string {
  return typeof key === 'string' && key.length <= LONGEST_KEY && /^[\x21-\x7e]+$/.test(key);
}
