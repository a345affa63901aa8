/**
 * Adds optional packages for other platforms to package-lock.json, which were missing in the registry when the lock was
 * made. `npm ci` refuses a lock without them, although it would not install them on this platform.
 *
 *   node scripts/complete-lock.mjs          after a change of dependencies, where the registry is incomplete
 *   node scripts/complete-lock.mjs site     the same for site/package-lock.json
 *
 * The versions come from the packages that depend on them, and the platform from the name.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const LOCK = new URL(`../${process.argv[2] ?? '.'}/package-lock.json`, import.meta.url);
const SYSTEM =
  /-(darwin|linux|win32|freebsd|android|openharmony)-(arm64|arm|x64|ia32|ppc64|s390x|riscv64|loong64)(?:-(gnu|musl|\w+))?/;

function entryOf(name, version) {
  if (name.endsWith('-wasm32-wasi')) return { version, cpu: ['wasm32'], dev: true, optional: true };
  if (name.includes('-windows-')) {
    return { version: version.replace(/^[~^]/, ''), dev: true, optional: true, os: ['win32'] };
  }
  const [, os, cpu, abi = ''] =
    SYSTEM.exec(name) ?? fail(`The system of ${name} can't be read from its name.`);
  const libc = os === 'linux' ? { libc: [abi.startsWith('musl') ? 'musl' : 'glibc'] } : {};
  return { version, cpu: [cpu], dev: true, ...libc, optional: true, os: [os] };
}

/** @returns {never} */
function fail(message) {
  throw new Error(message);
}

const lock = JSON.parse(readFileSync(LOCK, 'utf8'));
const missing = Object.values(lock.packages)
  .flatMap(({ optionalDependencies = {} }) => Object.entries(optionalDependencies))
  .filter(([name]) => !lock.packages[`node_modules/${name}`]);
for (const [name, version] of missing) lock.packages[`node_modules/${name}`] = entryOf(name, version);
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([one], [other]) => one.localeCompare(other, 'en')),
);
writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`complete-lock: ${missing.length} packages added`);
