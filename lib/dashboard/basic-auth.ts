import { Logger } from '@nestjs/common';
import { ConfigurationError } from '../job/errors.js';
import { secretDigest, secretEquals } from '../net/secret-equals.js';
import type { DashboardAuth, DashboardRequest, DashboardUser } from './dashboard.options.js';
import { networkOf } from '../net/network-of.js';
import { ThrottledAudit } from './audit.js';
import { ApiFailure } from './dashboard-errors.js';

/** A user of `basicAuth`. */
export interface BasicUser extends Partial<Pick<DashboardUser, 'view' | 'act'>> {
  /** At least 8 characters; under 12 there is a warning. */
  readonly password: string;
}

/** Options of `basicAuth`. */
export interface BasicAuthOptions {
  /** By their names. `view` and `act` are true by default. */
  readonly users: Readonly<Record<string, BasicUser>>;
}

interface Known {
  readonly digest: Buffer;
  readonly user: DashboardUser;
}

const SHORTEST = 8;
const SHORT = 12;
const UNKNOWN = secretDigest('');

/**
 * An `auth` that asks for a name and a password in the browser's own dialog. Use it with HTTPS only. After ten wrong passwords for
 * a name from an address there is one more in ten seconds, and 429 until then. @throws ConfigurationError
 */
export function basicAuth({ users }: BasicAuthOptions): DashboardAuth {
  const known = new Map(Object.entries(users ?? {}).map(([name, user]) => [name, knownOf(name, user)]));
  if (known.size === 0)
    throw new ConfigurationError('basicAuth needs `users`, such as { ops: { password: … } }.');
  const guesses = new PasswordGuesses((name) => known.has(name));
  const check = (request: DashboardRequest) => {
    const [name, password] = credentials(request.headers.authorization);
    if (name === undefined || password === undefined) return undefined;
    const address = request.ip ?? '';
    guesses.check(address, name);
    const found = known.get(name);
    const isRight = secretEquals(secretDigest(password), found?.digest ?? UNKNOWN);
    const user = isRight ? found?.user : undefined;
    if (!user) guesses.wrong(address, name);
    return user;
  };
  return Object.assign(check, { challenge: 'Basic realm="jobs", charset="UTF-8"' });
}

function knownOf(name: string, { password, view = true, act = true }: BasicUser): Known {
  if (name === '' || name.includes(':'))
    throw new ConfigurationError('A name of basicAuth must be text without a colon.');
  if (typeof password !== 'string' || password.length < SHORTEST)
    throw new ConfigurationError(
      `The password of "${name}" must have at least ${SHORTEST} characters. Is its environment variable set?`,
    );
  if (password.length < SHORT)
    new Logger('Dashboard').warn(
      `The password of "${name}" has less than ${SHORT} characters. Guesses are slowed, but a longer one is safer.`,
    );
  return { digest: secretDigest(password), user: { name, view, act } };
}

function credentials(header: string | undefined): string[] {
  const encoded = /^Basic ([\w+/=-]{1,2000})$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return [];
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon < 0 ? [] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** So many wrong passwords at once, and then one more in each such time, for a name from an address. */
const BURST = 10;

const REFILL_MS = 10_000;

/** Who guesses may make up names and addresses: what is kept of them is bounded. */
const MOST_KEPT = 10_000;

const MOST_NAME = 200;

/** Slows guesses at passwords, for each address and name, and tells of them. */
export class PasswordGuesses {
  /**
   * When all guesses are allowed again, in milliseconds of `performance.now()`. The one that was used last is the last. Made-up names
   * are apart: they take no place of those that there are.
   */
  readonly #fullAt = { known: new Map<string, number>(), others: new Map<string, number>() };
  readonly #audit = new ThrottledAudit();

  /** @param isKnown whether there is a user of this name */
  constructor(private readonly isKnown: (name: string) => boolean) {}

  /** @throws ApiFailure 429 while no guess is left, also for the right password */
  check(address: string, name: string, now = performance.now()): void {
    const wait = (this.#kept(name).get(keyOf(address, name)) ?? now) - now - (BURST - 1) * REFILL_MS;
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
    const kept = this.#kept(name);
    const fullAt = Math.max(now, kept.get(key) ?? now) + REFILL_MS;
    kept.delete(key);
    kept.set(key, fullAt);
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    this.#tell(address, name, { code: 'NOT_LOGGED_IN', message: 'Wrong name or password.' }, now);
  }

  #kept(name: string): Map<string, number> {
    return this.isKnown(name) ? this.#fullAt.known : this.#fullAt.others;
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
