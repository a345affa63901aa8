import { inspect } from 'node:util';
import { isRecord, isValueMatcher, type ValueMatcher } from './subset.js';

/** Shows a value on one line of limited length. Matchers appear as in test runners: `Any<String>`. */
export function show(value: unknown): string {
  return inspect(withNames(value, []), {
    compact: true,
    depth: 5,
    breakLength: Infinity,
    maxArrayLength: 20,
    maxStringLength: 200,
  });
}

function withNames(value: unknown, outer: readonly unknown[]): unknown {
  if (isValueMatcher(value)) return { [inspect.custom]: () => nameOf(value) };
  if (outer.includes(value)) return value;
  const inside = [...outer, value];
  if (Array.isArray(value)) return value.map((item) => withNames(item, inside));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNames(item, inside)]));
}

/** Whether a value is a plain object. `inspect` shows the names of other classes. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(matcher: ValueMatcher): string {
  if ('toAsymmetricMatcher' in matcher && typeof matcher.toAsymmetricMatcher === 'function')
    return String(matcher.toAsymmetricMatcher());
  const sample = 'sample' in matcher ? ` ${show(matcher.sample)}` : '';
  return `${String(matcher)}${sample}`;
}
