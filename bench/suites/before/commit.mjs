import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../../harness/options.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Builds a commit in a folder of its own, with the packages that are installed here.
 *
 * @returns {{ hash: string, folder: string, remove: () => void }}
 * @throws {UsageError}
 */
export function buildCommit(name) {
  const found = run('git', ['rev-parse', '--short', `${name}^{commit}`], root);
  if (found.status !== 0) throw new UsageError(`There is no commit ${name}.`);
  const hash = found.stdout.trim();
  const folder = mkdtempSync(join(tmpdir(), `gearmonkey-${hash}-`));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const archive = join(folder, 'tree.tar');
  /** @type {[program: string, args: string[], cwd: string][]} */
  const steps = [
    ['git', ['archive', '--output', archive, hash], root],
    ['tar', ['-xf', archive], folder],
    ['npm', ['run', 'build'], folder],
  ];
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [program, args, cwd] of steps) {
    const { status, stdout, stderr } = run(program, args, cwd);
    if (status === 0) continue;
    remove();
    throw new UsageError(`${program} ${args[0]} failed for ${hash}:\n${stdout}${stderr}`);
  }
  return { hash, folder, remove };
}

function run(program, args, cwd) {
  return spawnSync(program, args, { cwd, encoding: 'utf8' });
}
