/**
 * Frees dist/ of files that are read or started while an app runs, since an app may be bundled into one file: writes what a
 * module named *.embedded.js exports into that module. A text or an object of texts is written as it is; a URL is a
 * program, and becomes its text with all that it imports.
 */
import { build } from 'esbuild';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { addLicenses } from './licenses.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');

/** Files that have become part of dist/. @type {string[]} */
const included = [];

for (const path of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
  if (path.endsWith('.embedded.js')) await embed(join(DIST, path));
}
addLicenses(included);

/** @param {string} file */
async function embed(file) {
  const values = Object.entries(await import(pathToFileURL(file).href));
  const lines = values.map(async ([name, value]) => {
    const text = value instanceof URL ? await programOf(fileURLToPath(value)) : value;
    return `export const ${name} = ${JSON.stringify(text)};\n`;
  });
  writeFileSync(file, (await Promise.all(lines)).join(''));
}

/** As CommonJS, which Node takes a thread's text for. @param {string} file */
async function programOf(file) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [file],
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    // What `debug` uses where there happens to be one.
    external: ['supports-color'],
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    write: false,
  });
  included.push(...Object.keys(metafile.inputs));
  return outputFiles.map(({ text }) => text).join('');
}
