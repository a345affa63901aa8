import { isPromise } from 'node:util/types';
import { InvalidOptionError } from './errors.js';

const MAX_TAGS = 16;
const MAX_BYTES = 128;
const EXPECTED = `text of 1 to ${MAX_BYTES} bytes without control characters, such as 'order:7'`;

/** @param option its name in errors @throws InvalidOptionError */
export function checkTag(option: string, tag: unknown): string {
  const isText = typeof tag === 'string' && tag !== '' && tag.isWellFormed() && !/\p{Cc}/u.test(tag);
  if (!isText || Buffer.byteLength(tag) > MAX_BYTES) throw new InvalidOptionError(option, tag, EXPECTED);
  return tag;
}

/** Returns the tags of a job, each once; undefined if it has none. @throws InvalidOptionError */
export function checkTags(tags: unknown): readonly string[] | undefined {
  if (tags === undefined) return undefined;
  const expected = `a list of at most ${MAX_TAGS} texts, such as ['order:7']`;
  if (isPromise(tags) || !Array.isArray(tags) || tags.length > MAX_TAGS)
    throw new InvalidOptionError('tags', tags, expected);
  const checked = new Set(Array.from(tags as unknown[], (tag, index) => checkTag(`tags[${index}]`, tag)));
  return checked.size === 0 ? undefined : [...checked];
}

/** Reads received tags: what this package would not have sent is left out. */
export function readTags(received: unknown): readonly string[] | undefined {
  try {
    return checkTags(received);
  } catch {
    return undefined;
  }
}
