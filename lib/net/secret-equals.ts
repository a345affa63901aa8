import { createHash, timingSafeEqual } from 'node:crypto';

/** A digest of fixed length, so that a comparison does not reveal the secret's length. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Compares digests or signatures in constant time. */
export function secretEquals(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
