import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from './test-process.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** npm and jest hand their own settings down; a consumer has none of them. */
const cleanEnv = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name)));

/** What the command printed. Rejects with everything it said. */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  return (await runProgram(command, args, { cwd, env: cleanEnv(), timeout: 120_000 })).stdout;
}

export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'gearmonkey-package-'));
}

/**
 * Packs what has been built for the tests: to build it once more would take longer than all that is tested of it.
 *
 * @returns the tarball's path
 */
export async function pack(folder: string): Promise<string> {
  await run(root, 'npm', 'pack', '--ignore-scripts', '--pack-destination', folder);
  const { name, version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
  };
  return join(folder, `${name}-${version}.tgz`);
}

/** Paths in a tarball, without npm's leading `package/`. */
export async function packedFiles(tarball: string): Promise<string[]> {
  const list = await run(dirname(tarball), 'tar', '-tzf', tarball);
  return list
    .split('\n')
    .filter(Boolean)
    .map((path) => path.replace(/^package\//, ''));
}

/** A project with these packages and files, strictly compiled. Its path. */
export async function consumer(
  folder: string,
  packages: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<string> {
  await mkdir(folder);
  const all = { ...files, 'package.json': PACKAGE, 'tsconfig.json': TSCONFIG };
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
  await run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages);
  await run(folder, process.execPath, 'node_modules/typescript/bin/tsc');
  return folder;
}

const PACKAGE = JSON.stringify({ name: 'consumer', private: true });
/** Compiler options of a strict app of a user. */
export const STRICT_APP = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  skipLibCheck: false,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  types: ['node'],
};
const TSCONFIG = JSON.stringify({ compilerOptions: { ...STRICT_APP, outDir: 'out' } });
