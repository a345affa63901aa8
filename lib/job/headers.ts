import { isPromise } from 'node:util/types';
import { InvalidOptionError } from './errors.js';

/**
 * Text that travels with a job, such as a tenant, a locale or a correlation id: names and values are strings. At most 64
 * headers, names of at most 255 characters, and 8 KiB as JSON.
 */
export type JobHeaders = Readonly<Record<string, string>>;

/** Headers as they are given: those without a value are left out. */
export type GivenHeaders = Readonly<Record<string, string | undefined>>;

export const NO_HEADERS: JobHeaders = Object.freeze({});

/** Headers of a job that `gearmonkey import` has moved: what it had in the other system. The timestamp is in ms since 1970. */
export const IMPORT_HEADERS = {
  id: 'import-id',
  name: 'import-name',
  timestamp: 'import-timestamp',
} as const;

const MAX_HEADERS = 64;
const MAX_NAME = 255;
const MAX_BYTES = 8192;

/**
 * Copies headers from several places, the later before the earlier; undefined if there are none.
 *
 * @throws InvalidOptionError
 */
export function checkHeaders(...given: readonly unknown[]): JobHeaders | undefined {
  const all = new Map<string, string>();
  for (const headers of given) for (const [name, value] of entriesOf(headers)) all.set(name, value);
  if (all.size === 0) return undefined;
  if (all.size > MAX_HEADERS) throw invalid(`${all.size} headers`, `at most ${MAX_HEADERS} headers`);
  const headers = asHeaders(all);
  const bytes = Buffer.byteLength(JSON.stringify(headers));
  if (bytes > MAX_BYTES)
    throw invalid(`${bytes} bytes`, `at most ${MAX_BYTES} bytes as JSON: pass large values in the input`);
  return headers;
}

/** Puts headers before those of `added` that fit beside them: without room, or malformed, none is added. */
export function addHeaders(
  added: GivenHeaders | undefined,
  headers: JobHeaders | undefined,
): JobHeaders | undefined {
  if (added === undefined) return headers;
  try {
    return checkHeaders(added, headers);
  } catch {
    return headers;
  }
}

/** Reads received headers: what this package would not have sent is left out. */
export function readHeaders(received: unknown): JobHeaders | undefined {
  try {
    return checkHeaders(received);
  } catch {
    return undefined;
  }
}

function entriesOf(headers: unknown): [string, string][] {
  if (headers === undefined) return [];
  const entries = ownEntries(headers);
  for (const [name, value] of entries) {
    if (name === '' || name.length > MAX_NAME || !name.isWellFormed())
      throw invalid(name, `names of 1 to ${MAX_NAME} characters`);
    if (typeof value !== 'string')
      throw new InvalidOptionError(`headers.${name}`, value, 'text: convert it with String(…)');
    if (!value.isWellFormed()) throw new InvalidOptionError(`headers.${name}`, value, 'well-formed Unicode');
  }
  return entries as [string, string][];
}

/** @throws InvalidOptionError for a value that has none, such as a Promise, or that can't be read */
function ownEntries(headers: unknown): [string, unknown][] {
  const expected = "an object of texts, such as { tenant: 'acme' }";
  if (isPromise(headers)) throw invalid(headers, `${expected}: a function that makes them must not be async`);
  try {
    if (typeof headers === 'object' && headers !== null && !(Symbol.iterator in headers))
      return Object.entries(headers).filter(([, value]) => value !== undefined);
  } catch (cause) {
    throw new InvalidOptionError('headers', headers, `${expected}, that can be read`, { cause });
  }
  // Lists, maps and the `Headers` of fetch don't have their contents as properties.
  throw invalid(headers, expected);
}

function asHeaders(entries: ReadonlyMap<string, string>): JobHeaders {
  // Without a prototype `__proto__` and `constructor` are names like others.
  return Object.freeze(Object.assign(Object.create(null) as object, Object.fromEntries(entries)));
}

function invalid(value: unknown, expected: string): InvalidOptionError {
  return new InvalidOptionError('headers', value, expected);
}
