import { createHash, timingSafeEqual } from 'node:crypto';

/** Of one length, so that comparing it tells nothing of the secret's. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Compares digests or signatures in a time that tells nothing of where they differ. */
export function secretEquals(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
