import { Logger } from '@nestjs/common';
import { ConfigurationError } from '../job/errors.js';
import { secretDigest, secretEquals } from '../net/secret-equals.js';
import type { DashboardAuth, DashboardRequest, DashboardUser } from './dashboard.options.js';
import { PasswordGuesses } from './password-guesses.js';

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
  const guesses = new PasswordGuesses();
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
