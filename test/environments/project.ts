import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { runProgram, type Ended } from '../support/test-process.js';

const TIMEOUT_MS = 300_000;

export interface ProjectOptions {
  /** Packages as npm takes them, and the tarball. */
  readonly packages: readonly string[];
  readonly devPackages?: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  /** @default 'module' */
  readonly type?: 'module' | 'commonjs';
  /** @default npm */
  readonly install?: 'npm' | 'pnpm';
}

/** A project of a user, made with the packages of the registry. */
export class Project {
  private constructor(readonly folder: string) {}

  static async make(
    folder: string,
    { packages, devPackages = [], files, ...rest }: ProjectOptions,
  ): Promise<Project> {
    const { type = 'module', install = 'npm' } = rest;
    const project = new Project(folder);
    const manifest = { name: 'project', private: true, type };
    const all = { 'package.json': JSON.stringify(manifest), ...files };
    for (const [path, text] of Object.entries(all)) await project.write(path, text);
    if (install === 'npm') {
      await project.run('npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages);
      if (devPackages.length > 0) await project.add(...devPackages);
    } else {
      await project.run(
        'npm',
        'install',
        '--no-save',
        '--no-audit',
        '--no-fund',
        '--prefix',
        'manager',
        'pnpm@10',
      );
      await project.run(
        './manager/node_modules/.bin/pnpm',
        'add',
        '--prefer-offline',
        ...packages,
        ...devPackages,
      );
    }
    return project;
  }

  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.folder, path)), { recursive: true });
    await writeFile(join(this.folder, path), text);
  }

  /** Installs packages for development, in place of other versions of them. */
  async add(...devPackages: string[]): Promise<void> {
    await this.run('npm', 'install', '-D', '--no-audit', '--no-fund', '--prefer-offline', ...devPackages);
  }

  readonly path = (path: string): string => join(this.folder, path);

  /** Runs a command of the project or of its packages. @throws when it fails, with all that it wrote */
  run(command: string, ...args: string[]): Promise<Ended> {
    return runProgram(command.startsWith('.') ? this.path(command) : command, args, {
      cwd: this.folder,
      env: { ...cleanEnv(), PATH: [this.path('node_modules/.bin'), process.env['PATH']].join(delimiter) },
      timeout: TIMEOUT_MS,
    });
  }
}

/** npm and Jest hand their own settings down. */
function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|NODE_ENV$)/i.test(name)),
  );
}
