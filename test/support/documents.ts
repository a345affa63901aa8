import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A block of code in a document. */
export interface Block {
  /** Its document, from the folder of the project. */
  readonly path: string;
  /** The document's line that begins it. */
  readonly line: number;
  readonly language: string;
  /** Whether it says that it can be run as it is. */
  readonly runs: boolean;
  /** A name that other blocks of its document import it by. */
  readonly file?: string | undefined;
  readonly code: string;
}

export const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  ...markdownIn('docs'),
  ...markdownIn('sample'),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

export const blocks = documents.flatMap(({ path, text }) => blocksOf(path, text));

/** The text of a document. @throws if there is none */
export function textOf(path: string): string {
  const document = documents.find((each) => each.path === path);
  if (!document) throw new Error(`There is no document ${path}.`);
  return document.text;
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .map((path) => join(folder, String(path)))
    .filter((path) => path.endsWith('.md'));
}

function blocksOf(path: string, text: string): Block[] {
  return [...text.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map(
    ({ 1: language = '', 2: marks = '', 3: code = '', index }) => ({
      path,
      line: text.slice(0, index).split('\n').length,
      language,
      runs: marks.split(' ').includes('run'),
      file: /\bfile=(\S+)/.exec(marks)?.[1],
      code,
    }),
  );
}
