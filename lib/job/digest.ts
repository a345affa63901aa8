import { createHash } from 'node:crypto';

/** A short name for a text that is long, or not for everyone's eyes. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
