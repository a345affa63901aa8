import { text } from 'node:stream/consumers';
import type { CodecName } from '../../job/codec.js';
import { MAX_SPAN_MS, toMilliseconds } from '../../job/duration.js';
import { ConfigurationError } from '../../job/errors.js';
import { printable } from '../../job/printable.js';

/**
 * The input of a job from the command line: JSON, or with the codec `text` any text. `-` reads it from stdin; without
 * it the input is null.
 *
 * @throws ConfigurationError
 */
export async function inputOf(given: string | undefined, codec: CodecName = 'json'): Promise<unknown> {
  if (given === undefined) return codec === 'text' ? '' : null;
  const read = given === '-' ? (await text(process.stdin)).replace(/\r?\n$/, '') : given;
  if (codec === 'text') return read;
  try {
    return JSON.parse(read);
  } catch {
    throw new ConfigurationError(
      `INPUT is not JSON. Write JSON, such as '{"path":"a.jpg"}' or '"word"', or pass \`--codec text\` to send it as it is.`,
    );
  }
}

/** `name=value` of repeatable flags. @throws ConfigurationError */
export function pairsOf(
  flag: string,
  given: readonly string[] | undefined,
): Record<string, string> | undefined {
  if (given === undefined) return undefined;
  const pairs = new Map<string, string>();
  for (const pair of given) {
    const at = pair.indexOf('=');
    if (at < 1) throw new ConfigurationError(`\`${flag}\` must be NAME=VALUE.`);
    const name = pair.slice(0, at);
    if (pairs.has(name)) throw new ConfigurationError(`\`${flag}\` has "${printable(name)}" twice.`);
    pairs.set(name, pair.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}

/** A time, as text that `Date` reads. @throws ConfigurationError */
export function dateOf(flag: string, given: string | undefined): Date | undefined {
  if (given === undefined) return undefined;
  const date = new Date(given);
  if (!Number.isNaN(date.getTime())) return date;
  throw new ConfigurationError(`\`${flag}\` must be a time, such as 2027-01-01T09:00:00Z.`);
}

/** A time, or how long ago it was, such as `1h`. @throws ConfigurationError */
export function pastOf(flag: string, given: string | undefined): Date | undefined {
  if (given === undefined || !/^\d+(\.\d+)? ?[a-z]+$/i.test(given)) return dateOf(flag, given);
  return new Date(Date.now() - toMilliseconds(flag, given, { most: MAX_SPAN_MS }));
}

/** A whole number. @throws ConfigurationError */
export function wholeOf(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new ConfigurationError(`\`${flag}\` must be a whole number.`);
}
