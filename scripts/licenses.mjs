/** The licences of packages that have become part of dist/, in dist/THIRD-PARTY-LICENSES.txt. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt');

/**
 * Adds what the packages of bundled files want to be said of them.
 *
 * @param {Iterable<string>} files their paths, absolute or from the root of the repository; those of no package are left out
 */
export function addLicenses(files) {
  const known = existsSync(FILE) ? [readFileSync(FILE, 'utf8')] : [];
  const added = packagesOf(files)
    .map(license)
    .filter((text) => !known.join().includes(text));
  if (added.length > 0) writeFileSync(FILE, [...known, ...added].join('\n\n'));
}

/** @param {Iterable<string>} files */
function packagesOf(files) {
  const folders = new Set();
  for (const file of files) {
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(resolve(ROOT, file)) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  return [...folders].sort();
}

/** @param {string} folder */
function license(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no license file.`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}
