/**
 * Makes few files of the hundreds that were compiled, since finding and linking them is most of the time that importing the
 * package takes: each entry point and each program of package.json stays a file, and what they share is in dist/chunks/. A
 * comment in a file names each module that has become part of it. Declarations stay as they are.
 */
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');

/** @type {{ exports: Record<string, string | { default: string }>, bin: Record<string, string> }} */
const { exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const modules = Object.values(exports).flatMap((entry) => (typeof entry === 'object' ? [entry.default] : []));
const files = [...modules, ...Object.values(bin)].map((path) => join(ROOT, path));
const nameOf = (/** @type {string} */ path) => path.slice(DIST.length + 1).replace(/\.js$/, '');

const { output } = await build({
  cwd: ROOT,
  input: Object.fromEntries(files.map((file) => [nameOf(file), file])),
  platform: 'node',
  // Packages, and Node's own modules.
  external: (id) => !/^[./]/.test(id),
  output: {
    ...{ dir: DIST, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name].js' },
    // They stand in the declarations.
    comments: { jsdoc: false },
  },
});
const written = new Set(output.map(({ fileName }) => fileName));
// The page's own scripts, which are part of a module by now, are read from here by tests.
const isOfPage = (/** @type {string} */ path) => path.startsWith(join('dashboard', 'page', '/'));
for (const path of readdirSync(DIST, { recursive: true, encoding: 'utf8' }))
  if (path.endsWith('.js') && !written.has(path) && !isOfPage(path)) rmSync(join(DIST, path));
