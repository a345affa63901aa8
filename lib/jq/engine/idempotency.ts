import { createHash } from 'node:crypto';
import { pack } from '../message-pack/pack.js';
import type { EnqueueRequest } from '../wire/requests.js';

const PRINT_CHARACTERS = 32;

/** An Idempotency-Key's name in Redis: of a fixed length, for any key. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Equal for requests that ask for the same job, in any encoding. */
export function printOf(request: EnqueueRequest): string {
  const { name, argument, priority, maxRetry, keepResult, timeout } = request;
  const whole = pack([name, argument, priority, maxRetry, keepResult, timeout]);
  return createHash('sha256').update(whole).digest('hex').slice(0, PRINT_CHARACTERS);
}
