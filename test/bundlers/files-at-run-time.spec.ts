import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(ROOT, 'dist');

/** What finds or reads a file. An address is made by `new URL` too, but never from `import.meta`. */
const FILES = /\bimport\.meta\b|\b__(?:dirname|filename)\b|['"](?:node:)?fs(?:\/promises)?['"]/;

/** Modules that may, since what they read is never a file of this package. */
const MAY: Readonly<Record<string, string>> = {
  'jobd/launcher/launcher.js': "whether a job's folder exists",
  'jobd/launcher/native/libc.js': 'requires koffi, which is native, from where it is installed',
  'jobd/launcher/native/pipe-reader.js': 'reads pipes of started programs',
  'jobd/launcher/orphans.js': 'Linux says in /proc which processes a job left',
  'jobd/launcher/process-identity.js': 'Linux says in /proc when a process began',
  'jobd/storage/dialects.js': "a database's certificate that the options name",
  'jobd/storage/sqlite-dialect.js': "SQLite's file that the options name",
  'nest/app-version.js': "the app's package.json, if there is one",
};
/** What the build has made of a module with files: texts and nothing else. */
const TEXTS = /^(?:export const \w+ = (?:"(?:[^"\\]|\\.)*"|\{(?:"(?:[^"\\]|\\.)*"[:,]?)+\});\n)+$/;

/** All modules that importing the entry points can load. */
function reachable(): string[] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  const found = new Set<string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g))
      visit(join(dirname(file), path));
  };
  for (const entry of Object.values(exports)) if (typeof entry === 'object') visit(join(ROOT, entry.default));
  return [...found];
}

const files = reachable();

describe('The built package in a one-file bundle', () => {
  it('reads no file of its own', () => {
    expect(files).toContain(join(DIST, 'dashboard/page-assets.js'));
    const reading = files.filter((file) => !isEmbedded(file) && FILES.test(readFileSync(file, 'utf8')));
    expect(reading.map((file) => relative(DIST, file)).sort()).toEqual(Object.keys(MAY).sort());
  });

  it('has the texts of its files in modules', () => {
    const embedded = files.filter(isEmbedded);
    expect(embedded.map((file) => relative(DIST, file))).toContain('dashboard/page.embedded.js');
    expect(embedded.filter((file) => !TEXTS.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});

function isEmbedded(file: string): boolean {
  return file.endsWith('.embedded.js');
}
