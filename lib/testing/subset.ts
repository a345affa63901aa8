import { isDeepStrictEqual } from 'node:util';

/** One place where a value is not as expected. */
export interface Difference {
  /** As `input.to`; empty for the value itself. */
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** As `expect.any(String)`, of jest and of vitest. */
interface Asymmetric {
  asymmetricMatch(actual: unknown): boolean;
}

/**
 * Where `actual` differs from `expected`, which may leave properties out. Lists have to be as long as expected, and what
 * is no plain object, such as a Date, has to be equal.
 */
export function differences(expected: unknown, actual: unknown, path = ''): Difference[] {
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual) ? [] : [{ path, expected, actual }];
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length)
    return expected.flatMap((item, index) => differences(item, actual[index], `${path}[${index}]`));
  if (isPlain(expected) && isPlain(actual))
    return Object.entries(expected).flatMap(([key, value]) =>
      differences(value, Object.hasOwn(actual, key) ? actual[key] : undefined, path ? `${path}.${key}` : key),
    );
  return isDeepStrictEqual(expected, actual) ? [] : [{ path, expected, actual }];
}

function isAsymmetric(value: unknown): value is Asymmetric {
  return (
    typeof value === 'object' &&
    value !== null &&
    'asymmetricMatch' in value &&
    typeof value.asymmetricMatch === 'function'
  );
}

/** Test runners run tests in realms of their own, whose Object is another. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
