/** Packs the package, and uses it as users do: with npm, in a folder of its own. */
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What an app with Nest has already. */
const APP = ['@nestjs/common@12', '@nestjs/core@12', 'reflect-metadata', 'rxjs'];
/** Exact, since a release must be the same tomorrow. */
const TYPE_CHECKERS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'];
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline'];

/** npm and Jest hand their own settings down. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|NODE_ENV$|REDIS_URL$)/i.test(name)),
);

/**
 * What the command printed.
 * @param {string} cwd @param {string} command @param {string[]} args
 * @throws if it fails, with all that it printed
 */
export function run(cwd, command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: ENVIRONMENT,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (error) throw error;
  if (status !== 0)
    throw new Error(`${[command, ...args].join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/**
 * @param {string} folder where the tarball goes
 * @returns {{ file: string, paths: string[], packed: number, unpacked: number }}
 */
export function pack(folder) {
  const [made] = JSON.parse(
    run(ROOT, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
  );
  return {
    file: join(folder, made.filename),
    paths: made.files.map((/** @type {{ path: string }} */ { path }) => path),
    packed: made.size,
    unpacked: made.unpackedSize,
  };
}

/** An app of Nest that has installed a tarball. */
export class Consumer {
  /** @param {string} folder @param {string} tarball */
  constructor(folder, tarball) {
    this.folder = folder;
    this.tarball = tarball;
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'app', private: true, type: 'module' }),
    );
    run(folder, 'npm', 'install', ...QUIET, ...APP);
    const before = bytesOf(join(folder, 'node_modules'));
    run(folder, 'npm', 'install', ...QUIET, tarball);
    /** Bytes by which the app has grown. */
    this.installed = bytesOf(join(folder, 'node_modules')) - before;
  }

  /** Runs the first program of the README in the tarball. Returns what it prints. */
  async runReadme() {
    const readme = readFileSync(join(this.folder, 'node_modules/nestjs-gearmonkey/README.md'), 'utf8');
    const [, program] = /^```ts run\n(.*?)^```$/ms.exec(readme) ?? [];
    if (program === undefined) throw new Error('README.md has no program that runs (```ts run).');
    const { transformSync } = await import('@swc/core');
    const { swcOptions } = await import('../swc-options.mjs');
    const options = /** @type {import('@swc/core').Options} */ (swcOptions);
    writeFileSync(join(this.folder, 'main.js'), transformSync(program, options).code);
    return run(this.folder, process.execPath, 'main.js');
  }

  /** @throws if publint or arethetypeswrong find that users can't import something, or get no types of it */
  checkTypes() {
    run(this.folder, 'npm', 'install', ...QUIET, '-D', ...TYPE_CHECKERS);
    const bin = join(this.folder, 'node_modules/.bin');
    run(this.folder, join(bin, 'publint'), 'run', '--strict', this.tarball);
    run(this.folder, join(bin, 'attw'), this.tarball, '--profile', 'esm-only', '--format', 'ascii');
  }
}

/** @param {string} folder @returns {number} */
function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => join(folder, entry.name))
    .map((path) => {
      const stat = lstatSync(path);
      return stat.isDirectory() ? bytesOf(path) : stat.size;
    })
    .reduce((sum, bytes) => sum + bytes, 0);
}
