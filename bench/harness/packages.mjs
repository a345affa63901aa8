import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = new URL('../', import.meta.url);

/** Installs missing packages of bench/package.json, which only the benchmark needs. */
export function installPackages(note) {
  const { dependencies } = read('package.json');
  const missing = Object.entries(dependencies).filter(([name, version]) => installed(name) !== version);
  if (missing.length === 0) return;
  note(`installing ${missing.map((entry) => entry.join(' ')).join(', ')} into bench/node_modules`);
  const install = ['install', '--no-package-lock', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', install, { cwd: fileURLToPath(folder), stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm could not install what the benchmark compares with; see above.');
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
