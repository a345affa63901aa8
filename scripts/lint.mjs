/**
 * Checks code and documents: oxlint, prettier, and types of all parts.
 *
 *   npm run lint
 *   npm run lint -- --fix     formats, and mends what oxlint can mend; checks no types
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @typedef {[command: string, ...args: string[]][]} Calls */

/** @type {Calls} */
const CHECKS = [
  ['oxlint', '--deny-warnings'],
  ['prettier', '--check', '.'],
  ['tsc', '--noEmit', '-p', 'tsconfig.test.json'],
  ['tsc', '--noEmit', '-p', 'bench'],
  ['tsc', '--noEmit', '-p', 'dashboard'],
];
/** @type {Calls} */
const FIXES = [
  ['prettier', '--write', '.'],
  ['oxlint', '--fix'],
];

const asked = process.argv.slice(2);
if (asked.some((argument) => argument !== '--fix')) {
  console.error(`lint: Expected --fix or nothing, got ${asked.join(' ')}.`);
  process.exit(2);
}
for (const [command, ...args] of asked.length > 0 ? FIXES : CHECKS) {
  const program = join(root, 'node_modules/.bin', command);
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
