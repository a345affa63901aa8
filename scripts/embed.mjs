/**
 * Frees dist/ of files that are read or started while an app runs, since an app may be bundled into one file: writes what a
 * module named *.embedded.js exports into that module. A text or an object of texts is written as it is; a URL is a
 * program, and becomes its text with all that it imports.
 */
import { build } from 'esbuild';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');

/** Folders of packages that have become part of dist/. @type {Set<string>} */
const included = new Set();

for (const path of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
  if (path.endsWith('.embedded.js')) await embed(join(DIST, path));
}
if (included.size > 0)
  writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), [...included].sort().map(license).join('\n\n'));

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
  for (const input of Object.keys(metafile.inputs)) {
    const [folder] = /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [];
    if (folder !== undefined) included.add(folder);
  }
  return outputFiles.map(({ text }) => text).join('');
}

/** What a package wants to be said of it. @param {string} folder */
function license(folder) {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  const file = readdirSync(join(ROOT, folder)).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no license file.`);
  return `${name} ${version}\n\n${readFileSync(join(ROOT, folder, file), 'utf8').trim()}\n`;
}
