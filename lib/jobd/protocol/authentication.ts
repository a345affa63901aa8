import { randomBytes, scrypt, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { secretDigest, secretEquals } from '../../net/secret-equals.js';
import { ConfigError } from '../vocabulary/errors.js';
import { GuessQueue } from './guess-queue.js';

/** Which clients may send requests: without a password all of them. */
export interface AuthOptions {
  readonly password?: string;
  /** As `hashPassword` makes it; used instead of `password`. */
  readonly passwordHash?: string;
  /** Requests from this machine need no password. @default false */
  readonly allowLocalhost?: boolean;
  /** Allows to listen without a password where other machines can connect. @default false */
  readonly allowNoPassword?: boolean;
}

const KNOWN = optionNames<AuthOptions>({
  password: true,
  passwordHash: true,
  allowLocalhost: true,
  allowNoPassword: true,
});

/** Whether the first request of a connection may pass. */
export type Authenticate = (
  password: string | undefined,
  remoteAddress: string | undefined,
  /** Whether the answer still matters. @default true */
  isGone?: () => boolean,
) => boolean | Promise<boolean>;

const LOCALHOST = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** Returns undefined if no password is needed. @param onSlowed as `GuessQueue`'s @throws ConfigError for an empty password or an invalid hash; ConfigurationError */
export function authenticator(
  auth: AuthOptions,
  onSlowed?: (address: string) => void,
): Authenticate | undefined {
  const { password, passwordHash, allowLocalhost } = checkOptions('auth', auth, KNOWN);
  for (const [name, value] of Object.entries({ password, passwordHash })) {
    // It may come from a variable that is not set, which must not open the port to all clients.
    if (value === '' || value === null)
      throw new ConfigError(`'${name}' is there but empty: give it a value, or leave it out`);
  }
  const guesses = new GuessQueue(onSlowed);
  const verify = passwordHash
    ? hashVerifier(passwordHash, guesses)
    : password
      ? plainVerifier(password, guesses)
      : undefined;
  if (!verify) return undefined;
  return (given, address, isGone = () => false) =>
    (allowLocalhost === true && address !== undefined && LOCALHOST.has(address)) ||
    (given !== undefined &&
      Buffer.byteLength(given) <= MAX_PASSWORD_BYTES &&
      verify(given, address ?? '', isGone));
}

/** Hashing longer passwords would cost too much. */
const MAX_PASSWORD_BYTES = 1024;

type Verifier = (given: string, address: string, isGone: () => boolean) => boolean | Promise<boolean>;

function plainVerifier(password: string, guesses: GuessQueue): Verifier {
  const expected = secretDigest(password);
  const look = (given: string) => secretEquals(secretDigest(given), expected);
  return (given, address, isGone) => guesses.askAtOnce(address, () => look(given), isGone);
}

const COST = { N: 16_384, r: 8, p: 1 } as const;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** Limits scrypt's memory, which is about 128 * N * r. */
const MAX_MEMORY = 256 * 1024 * 1024;

/** For `password_hash` in a configuration: `scrypt:N:r:p:salt:key`, salt and key in base64url. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, KEY_BYTES, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), key.toString('base64url')].join(':');
}

function hashVerifier(hash: string, guesses: GuessQueue): Verifier {
  const match = /^scrypt:(\d{1,7}):(\d{1,2}):(\d{1,2}):([\w-]{11,}):([\w-]{22,})$/.exec(hash);
  const [N = 0, r = 0, p = 0] = (match?.slice(1, 4) ?? []).map(Number);
  if (!match || N < 2 || (N & (N - 1)) !== 0 || r < 1 || p < 1 || 128 * N * r >= MAX_MEMORY) {
    throw new ConfigError("'password_hash' must be a line that `jobctl hash-password` printed");
  }
  const salt = Buffer.from(match[4] ?? '', 'base64url');
  const key = Buffer.from(match[5] ?? '', 'base64url');
  const look = async (given: string) =>
    secretEquals(await derive(given, salt, key.length, { N, r, p, maxmem: MAX_MEMORY }), key);
  return (given, address, isGone) => guesses.ask(address, () => look(given), isGone);
}
