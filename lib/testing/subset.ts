import { isDeepStrictEqual } from 'node:util';
import { isDate, isMap, isSet, isUint8Array } from 'node:util/types';

/** One difference between a value and the expected one. */
export interface Difference {
  /** As `input.to`; empty for the value itself. */
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** A matcher that stands for a value, such as `expect.any(String)` of Jest and vitest. */
export interface ValueMatcher {
  asymmetricMatch(actual: unknown): boolean;
}

/** Pairs of objects that contain the compared values, to detect cycles. */
interface Outer {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * Lists where `actual` differs from `expected`, which may omit properties. Lists, Maps and Sets must be as long as
 * expected. Classes don't matter: most codecs don't keep them, and test runners have an Object, Map and Date of their own.
 */
export function differences(
  expected: unknown,
  actual: unknown,
  path = '',
  outer: readonly Outer[] = [],
): Difference[] {
  const differs = { path, expected, actual };
  if (isValueMatcher(expected)) return expected.asymmetricMatch(actual) ? [] : [differs];
  const cycle = outer.find((around) => around.expected === expected && typeof expected === 'object');
  if (cycle) return cycle.actual === actual ? [] : [differs];
  const inside = [...outer, { expected, actual }];
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length)
    return expected.flatMap((item, index) => differences(item, actual[index], `${path}[${index}]`, inside));
  if (isRecord(expected) && isRecord(actual))
    return Object.entries(expected).flatMap(([key, value]) => {
      const own = Object.hasOwn(actual, key) ? actual[key] : undefined;
      return differences(value, own, path ? `${path}.${key}` : key, inside);
    });
  return isSame(expected, actual, inside) ? [] : [differs];
}

function isSame(expected: unknown, actual: unknown, outer: readonly Outer[]): boolean {
  if (isDate(expected) && isDate(actual)) return Object.is(expected.getTime(), actual.getTime());
  if ((isMap(expected) && isMap(actual)) || (isSet(expected) && isSet(actual)))
    return expected.size === actual.size && hasAll([...expected], [...actual], outer);
  if (isUint8Array(expected) && isUint8Array(actual)) return Buffer.compare(expected, actual) === 0;
  return isDeepStrictEqual(expected, actual);
}

function hasAll(expected: readonly unknown[], actual: readonly unknown[], outer: readonly Outer[]): boolean {
  return expected.every((item) => actual.some((other) => differences(item, other, '', outer).length === 0));
}

export function isValueMatcher(value: unknown): value is ValueMatcher {
  return (
    typeof value === 'object' &&
    value !== null &&
    'asymmetricMatch' in value &&
    typeof value.asymmetricMatch === 'function'
  );
}

/** Whether only properties count: plain objects, also of another realm, and instances of most classes. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === '[object Object]';
}
