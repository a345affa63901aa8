import { readdirSync, readFileSync } from 'node:fs';

/** A single change of the code that a test must notice. */
export interface Mutant {
  /** The changed file. */
  readonly file: string;
  /** Text that the file has exactly once, and what it becomes. */
  readonly find: string;
  readonly replace: string;
  /** Suites of `npm test` of which at least one fails, the likeliest first. */
  readonly suites: readonly string[];
  /** What goes wrong with it. */
  readonly breaks: string;
  /** For a change that no test can notice, since it does the same: why. Such a mutant is not run. */
  readonly equal?: string;
}

const LIST = new URL('list/', import.meta.url);

/** All mutants of `list/`, by the name of their file: the part of the package that they change. */
export function readMutants(): Map<string, readonly Mutant[]> {
  return new Map(
    readdirSync(LIST)
      .toSorted()
      .map((name) => [
        name.replace(/\.json$/, ''),
        JSON.parse(readFileSync(new URL(name, LIST), 'utf8')) as readonly Mutant[],
      ]),
  );
}

/** @throws unless the text to replace is there exactly once */
export function change(text: string, { file, find, replace }: Mutant): string {
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}
