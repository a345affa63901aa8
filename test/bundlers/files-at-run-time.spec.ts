import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIB = join(ROOT, 'lib');
const DIST = join(ROOT, 'dist');

/** What finds or reads a file. An address is made by `new URL` too, but never from `import.meta`. */
const FILES = /\bimport\.meta\b|\b__(?:dirname|filename)\b|['"](?:node:)?fs(?:\/promises)?['"]/;

/** Modules that may, since what they read is never a file of this package. */
const MAY: Readonly<Record<string, string>> = {
  'jobd/launcher/launcher.ts': "whether a job's folder exists",
  'jobd/launcher/native/libc.ts': 'requires koffi, which is native, from where it is installed',
  'jobd/launcher/native/pipe-reader.ts': 'reads pipes of started programs',
  'jobd/launcher/orphans.ts': 'Linux says in /proc which processes a job left',
  'jobd/launcher/process-identity.ts': 'Linux says in /proc when a process began',
  'jobd/storage/dialects.ts': "a database's certificate that the options name",
  'jobd/storage/sqlite-dialect.ts': "SQLite's file that the options name",
  'nest/app-version.ts': "the app's package.json, if there is one",
};
/** Reads a statement of a module, or a call, that loads a module of this package. */
const LOADS = /^(?:im|ex)port(?! type\b)[^;']*'(\.{1,2}\/[^']+\.js)'|\bimport\('(\.{1,2}\/[^']+\.js)'\)/gm;
/** In a line: comments have apostrophes. */
const STRINGS = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`/g;

/** All modules that importing the entry points can load. */
function reachable(): string[] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  const found = new Set<string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    if (isEmbedded(file)) return;
    for (const [, imported, loaded] of readFileSync(file, 'utf8').matchAll(LOADS))
      visit(join(dirname(file), (imported ?? loaded ?? '').replace(/js$/, 'ts')));
  };
  for (const entry of Object.values(exports))
    if (typeof entry === 'object')
      visit(join(ROOT, entry.default.replace('./dist', 'lib').replace(/js$/, 'ts')));
  return [...found].map((file) => relative(LIB, file));
}

describe('The built package in a one-file bundle', () => {
  const modules = reachable();

  it('reads no file of its own', () => {
    expect(modules).toContain('dashboard/page-assets.ts');
    const reading = modules.filter(
      (path) => !isEmbedded(path) && FILES.test(readFileSync(join(LIB, path), 'utf8')),
    );
    expect(reading.sort()).toEqual(Object.keys(MAY).sort());
  });

  it('has the texts of its files in its code, so that nothing but koffi is found by where the code lies', () => {
    expect(modules).toContain('dashboard/page.embedded.ts');
    // Scripts of the page run in a browser, and are part of a module here.
    const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.js') && !path.startsWith('dashboard/page/'),
    );
    const code = files.map((path) => readFileSync(join(DIST, path), 'utf8').replace(STRINGS, "''"));
    const found = code.flatMap((text) => text.match(/.*\bimport\.meta\b.*/g) ?? []);
    expect(found.map((line) => line.trim())).toEqual([expect.stringMatching(/^const koffi = createRequire/)]);
  });
});

function isEmbedded(file: string): boolean {
  return file.endsWith('.embedded.ts');
}
