import { ConfigurationError } from './errors.js';

/** The option names of a type. A list that lacks one, or has one too many, does not compile. */
export function optionNames<T>(names: Readonly<Record<keyof T, true>>): ReadonlySet<string> {
  return new Set(Object.keys(names));
}

/**
 * Returns `options` after checking that all names are known: a mistyped option would be ignored silently.
 *
 * @throws ConfigurationError that names `user`, the option, and the closest known name
 */
export function checkOptions<T extends object>(user: string, options: T, known: ReadonlySet<string>): T {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError(
      `The options of ${user} are not an object. Write them as { ${[...known][0]}: … }.`,
    );
  }
  for (const name of Object.keys(options)) {
    if (!known.has(name)) throw unknownOption(user, name, known);
  }
  return options;
}

/** Copies the known options of an object, each read once: they may be getters, also of its class. */
export function copyOptions<T extends object>(options: T, known: ReadonlySet<string>): T {
  const read = options as Readonly<Record<string, unknown>>;
  return Object.fromEntries([...known].filter((name) => name in read).map((name) => [name, read[name]])) as T;
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
