import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = new URL('../', import.meta.url);

/**
 * Installs missing packages of bench/package.json, which only the benchmark needs. Benchmarks that start at the same
 * time install them in folders of their own, and the first that is done gives its packages to all.
 */
export function installPackages(note) {
  const missing = missingPackages();
  if (missing.length === 0) return;
  note(`installing ${missing.map((entry) => entry.join(' ')).join(', ')} into bench/node_modules`);
  const bench = fileURLToPath(folder);
  const own = mkdtempSync(join(bench, 'node_modules.'));
  try {
    copyFileSync(join(bench, 'package.json'), join(own, 'package.json'));
    const install = ['install', '--no-package-lock', '--no-audit', '--no-fund'];
    const { status } = spawnSync('npm', install, { cwd: own, stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error('npm could not install what the benchmark compares with; see above.');
    if (missingPackages().length > 0) put(join(own, 'node_modules'), join(bench, 'node_modules'), own);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** Puts the installed packages in place of those of another version; both moves are whole or not at all. */
function put(installed, place, own) {
  try {
    if (existsSync(place)) renameSync(place, join(own, 'replaced'));
    renameSync(installed, place);
  } catch (error) {
    // Another benchmark has put its packages there meanwhile.
    if (missingPackages().length > 0) throw error;
  }
}

function missingPackages() {
  const { dependencies } = read('package.json');
  return Object.entries(dependencies).filter(([name, version]) => installed(name) !== version);
}

function installed(name) {
  try {
    return versionOf(name);
  } catch {
    return undefined;
  }
}

/** The version of a package in bench/node_modules. */
export function versionOf(name) {
  return read(`node_modules/${name}/package.json`).version;
}

/** The version of this package. */
export function ownVersion() {
  return read('../package.json').version;
}

function read(path) {
  return JSON.parse(readFileSync(new URL(path, folder), 'utf8'));
}
