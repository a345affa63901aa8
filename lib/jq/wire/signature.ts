import { createHmac } from 'node:crypto';
import { secretEquals } from '../../net/secret-equals.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';

/** Unix seconds at which a push was signed. */
const TIMESTAMP_HEADER = 'jq-timestamp';
/** `v2=` and the HMAC in hex. */
export const SIGNATURE_HEADER = 'jq-signature';

const SCHEME = 'v2=';

/** A request's headers; these two prove that a master with the secret sent it. */
export type SignatureHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * The value of `jq-signature`: HMAC-SHA256, keyed with the secret, of the timestamp, a space, the worker's URL, a
 * newline and the body.
 *
 * @param timestamp the text of `jq-timestamp`: Unix seconds
 * @param url as the worker registered it, without a slash at its end
 */
export function sign(body: Uint8Array, timestamp: string, url: string, secret: string): string {
  const hmac = createHmac('sha256', secret).update(`${timestamp} ${url}\n`).update(body);
  return SCHEME + hmac.digest('hex');
}

/** Both headers of a push that is signed now. */
export function signed(
  body: Uint8Array,
  url: string,
  secret: string,
  now = Date.now(),
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: sign(body, timestamp, url, secret) };
}

/** What `verify` checks a push against. */
export interface VerifyOptions {
  /** The worker's registered URL without a trailing slash, so that a push for another worker is refused. */
  readonly url: string;
  /** Any of them is accepted: while a secret is being changed there are two. */
  readonly secrets: readonly string[];
  /** How far a push's clock may be from ours, both ways. */
  readonly window: Duration;
  /** @default the present time */
  readonly now?: Date;
}

const VERIFY = optionNames<VerifyOptions>({ url: true, secrets: true, window: true, now: true });

/** Whether one of the secrets signed this body within the window. Takes the same time for any mistake. @throws ConfigurationError, InvalidOptionError */
export function verify(body: Uint8Array, headers: SignatureHeaders, options: VerifyOptions): boolean {
  const { url, secrets, window, now = new Date() } = checkOptions('verify', options, VERIFY);
  const most = toMilliseconds('window', window);
  const { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: signature } = headers;
  if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false;
  if (typeof signature !== 'string') return false;
  // Not `>`: this way an invalid time fails, too.
  if (!(Math.abs(now.getTime() - Number(timestamp) * 1000) <= most)) return false;
  const given = Buffer.from(signature);
  const expected = secrets.map((secret) => Buffer.from(sign(body, timestamp, url, secret)));
  return expected.filter((each) => secretEquals(given, each)).length > 0;
}
