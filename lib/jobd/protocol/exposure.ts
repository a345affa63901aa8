import { isIPv4 } from 'node:net';
import { ConfigError } from '../vocabulary/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { AuthOptions } from './authentication.js';

/** Where requests are accepted, and from which clients. */
export interface Exposure {
  readonly host: string;
  readonly auth: AuthOptions;
}

/** A password of so many can hardly be found by trying. */
const GOOD_PASSWORD_CHARACTERS = 16;
export const SHORT_PASSWORD = `the password is short: it can be found by trying. Give it ${GOOD_PASSWORD_CHARACTERS} characters`;
const LOOPBACK_NAMES = new Set(['localhost', 'ip6-localhost', '::1']);

/** @throws ConfigError if other machines could do everything without an option that allows it */
export function checkExposure({ host, auth }: Exposure): void {
  if (asksForPassword(auth) || auth.allowNoPassword || isLoopback(host)) return;
  throw new ConfigError(
    `'host' is ${host}, which others reach, and there is no 'password': set one, or 'password_hash', or ` +
      `'allow_no_password = true' where a firewall keeps them out`,
  );
}

/** Logs at startup who may send requests. */
export function sayExposure({ host, auth }: Exposure, log: JobdLog): void {
  if (isShort(auth.password) && !auth.passwordHash) log.warn(SHORT_PASSWORD);
  if (asksForPassword(auth))
    return log.info(`asks for a password${auth.allowLocalhost ? ', but not this machine' : ''}`);
  const none = 'asks for no password: anyone who reaches this port may do everything';
  if (isLoopback(host)) log.info(none);
  else log.warn(none);
}

/** Whether a password is easily found by trying. */
export function isShort(password: string | undefined): boolean {
  return password !== undefined && password.length < GOOD_PASSWORD_CHARACTERS;
}

/** Logs that guesses of an address have to wait from now on. */
export function saySlowed(log: JobdLog): (address: string) => void {
  return (address) =>
    log.warn(`wrong passwords from ${address}: its next ones are checked more and more slowly`);
}

function asksForPassword({ password, passwordHash }: AuthOptions): boolean {
  return Boolean(password ?? passwordHash);
}

function isLoopback(host: string): boolean {
  const address = host.replace(/^::ffff:/i, '');
  return LOOPBACK_NAMES.has(host) || (isIPv4(address) && address.startsWith('127.'));
}
