import { isMap, isSet, isWeakMap, isWeakSet } from 'node:util/types';

/** How many values are looked at for functions, of which JSON leaves no trace. */
const MAX_SEARCHED = 100;

/** What a codec for plain data would write as `{}`, or leave out, and what to do. */
function lossOf(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function: pass what it returns, or leave it out';
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === Object.prototype)
    return undefined;
  if (isMap(value)) return 'a Map: pass Object.fromEntries(map), or a list of its entries';
  if (isSet(value)) return 'a Set: pass a list, [...set]';
  if (isWeakMap(value) || isWeakSet(value)) return 'a weak collection, which nothing can list';
  if (typeof (value as { then?: unknown }).then === 'function') return 'a Promise: await it first';
  return undefined;
}

/** Whether a codec for plain data would lose this object. */
export function isLost(value: unknown): boolean {
  return lossOf(value) !== undefined;
}

/**
 * Refuses what JSON loses without a word, after it has been written: a collection or a Promise shows as `{}`, so values
 * whose text has none are not searched again. A function shows nowhere; it is looked for among the first values only.
 *
 * @throws TypeError with the path and the remedy
 */
export function refuseLost(value: unknown, json: string): void {
  if (typeof value !== 'object' || value === null) return;
  const found = lossIn(value, '', { left: json.includes('{}') ? Infinity : MAX_SEARCHED });
  if (found !== undefined) throw new TypeError(found);
}

/** The same for a value of which it is known that something is lost. @throws TypeError */
export function refuseLostSomewhere(value: unknown): void {
  const found = lossIn(value, '', { left: Infinity });
  if (found !== undefined) throw new TypeError(found);
}

/** How many more values a search looks at. */
interface Search {
  left: number;
}

/** What is lost of a value that could be written, so it is not circular. */
function lossIn(value: unknown, path: string, search: Search): string | undefined {
  if (search.left <= 0 || (typeof value !== 'object' && typeof value !== 'function') || value === null)
    return undefined;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  const loss = lossOf(value);
  if (loss !== undefined) return `${path === '' ? 'it' : path} is ${loss}`;
  if (Array.isArray(value)) return lossInList(value, path, search);
  if (ArrayBuffer.isView(value)) return undefined;
  return lossInObject(value, path, search);
}

function lossInList(list: readonly unknown[], path: string, search: Search): string | undefined {
  for (let index = 0; index < list.length; index++) {
    if (--search.left < 0) return undefined;
    const found = lossIn(list[index], `${path}[${index}]`, search);
    if (found !== undefined) return found;
  }
  return undefined;
}

function lossInObject(value: object, path: string, search: Search): string | undefined {
  for (const key of Object.keys(value)) {
    if (--search.left < 0) return undefined;
    const part = (value as Record<string, unknown>)[key];
    if (typeof part !== 'object' && typeof part !== 'function') continue;
    const found = lossIn(part, path === '' ? key : `${path}.${key}`, search);
    if (found !== undefined) return found;
  }
  return undefined;
}
