import { networkOf } from '../net/network-of.js';
import { ThrottledAudit } from './audit.js';
import { ApiFailure } from './dashboard-errors.js';

/** So many wrong passwords at once, and then one more in each such time, for a name from an address. */
const BURST = 10;
const REFILL_MS = 10_000;
/** Who guesses may make up names and addresses: what is kept of them is bounded. */
const MOST_KEPT = 10_000;
const MOST_NAME = 200;

/** Slows guesses at passwords, for each address and name, and tells of them. */
export class PasswordGuesses {
  /** When all guesses are allowed again, in milliseconds of `performance.now()`. The one that was used last is the last. */
  readonly #fullAt = new Map<string, number>();
  readonly #audit = new ThrottledAudit();

  /** @throws ApiFailure 429 while no guess is left, also for the right password */
  check(address: string, name: string, now = performance.now()): void {
    const wait = (this.#fullAt.get(keyOf(address, name)) ?? now) - now - (BURST - 1) * REFILL_MS;
    if (wait <= 0) return;
    const failure = new ApiFailure(429, 'TOO_MANY_GUESSES', 'Too many wrong passwords. Try again later.', {
      'retry-after': String(Math.ceil(wait / 1000)),
    });
    this.#tell(address, name, failure, now);
    throw failure;
  }

  /** Counts a wrong password. */
  wrong(address: string, name: string, now = performance.now()): void {
    const key = keyOf(address, name);
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + REFILL_MS;
    this.#fullAt.delete(key);
    this.#fullAt.set(key, fullAt);
    const [oldest] = this.#fullAt.keys();
    if (this.#fullAt.size > MOST_KEPT && oldest !== undefined) this.#fullAt.delete(oldest);
    this.#tell(address, name, { code: 'NOT_LOGGED_IN', message: 'Wrong name or password.' }, now);
  }

  #tell(
    address: string,
    name: string,
    { code, message }: { code: string; message: string },
    now: number,
  ): void {
    const user = name.slice(0, MOST_NAME);
    const event = { action: 'login-refused', user, target: address, instance: '', fn: '' } as const;
    this.#audit.tell({ ...event, at: new Date(), error: { code, message } }, now);
  }
}

function keyOf(address: string, name: string): string {
  return `${networkOf(address)} ${name.slice(0, MOST_NAME)}`;
}
