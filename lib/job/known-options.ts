import { isDate, isPromise } from 'node:util/types';
import { reasonOf } from './error-info.js';
import { ConfigurationError } from './errors.js';

/** The option names of a type. A list that lacks one, or has one too many, does not compile. */
export function optionNames<T>(names: Readonly<Record<keyof T, true>>): ReadonlySet<string> {
  return new Set(Object.keys(names));
}

/**
 * Returns a copy of `options` after checking that all names are known: a mistyped option would be ignored silently. Each
 * option is read once: it may be a getter, also of its class.
 *
 * @throws ConfigurationError that names `user` and the option, with the closest known name, or what a getter threw as its
 * cause
 */
export function checkOptions<T extends object>(user: string, options: T, known: ReadonlySet<string>): T {
  const names = ownNames(options);
  if (!names)
    throw new ConfigurationError(
      `The options of ${user} are not an object. Write them as { ${[...known][0]}: … }.`,
    );
  for (const name of names) {
    if (!known.has(name)) throw unknownOption(user, name, known);
  }
  const copy: Record<string, unknown> = {};
  for (const name of known) {
    try {
      if (name in options) copy[name] = (options as Readonly<Record<string, unknown>>)[name];
    } catch (cause) {
      throw new ConfigurationError(
        `The option \`${name}\` of ${user} can't be read: ${reasonOf(cause)}. Pass a value in place of a getter.`,
        { cause },
      );
    }
  }
  return copy as T;
}

/** Undefined for a value that can't have options: a list, a Promise, a proxy that can't be read. */
function ownNames(options: unknown): string[] | undefined {
  // Not awaited, it may fail, and an unhandled rejection would end the process.
  if (isPromise(options)) options.catch(() => undefined);
  try {
    if (typeof options !== 'object' || options === null || isPromise(options) || isDate(options))
      return undefined;
    return Symbol.iterator in options ? undefined : Object.keys(options);
  } catch {
    return undefined;
  }
}

function unknownOption(user: string, name: string, known: ReadonlySet<string>): ConfigurationError {
  const [nearest] = [...known]
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((one, other) => one.distance - other.distance);
  const meant = nearest && nearest.distance <= Math.min(3, name.length / 2) ? nearest.candidate : undefined;
  const hint = meant ? `Did you mean \`${meant}\`?` : `It takes ${[...known].join(', ')}.`;
  return new ConfigurationError(`${user} has no option \`${name.slice(0, 80)}\`. ${hint}`);
}

/** Edit distance: how many insertions, deletions and replacements turn one text into the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, char] of [...one].entries()) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const replaced = (row[j] ?? 0) + (char === other[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
