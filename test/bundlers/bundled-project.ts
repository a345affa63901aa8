import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { runProgram } from '../support/test-process.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/operate/bundlers.md');
const TIMEOUT_MS = 300_000;

/** What an app has installed, and what jobd and JQ can't do without; none of the optional packages. */
const INSTALLED = [
  '@msgpack/msgpack',
  '@nestjs/common',
  '@nestjs/core',
  'croner',
  'ioredis',
  'kysely',
  'ms',
  'negotiator',
  'reflect-metadata',
  'rxjs',
  'undici',
  // What the document's configurations import.
  '@rspack/core',
  'webpack',
];

/** A link would lead it to packages that it takes when it finds them, such as @nestjs/swagger. */
const TERMINUS = { name: '@nestjs/terminus', needs: ['boxen', 'check-disk-space'] };

/** A project with the app as `nest build` leaves it, and with this package as npm installs it. */
export class BundledProject {
  private constructor(
    private readonly folder: string,
    private readonly away: string,
    private readonly optional: readonly string[],
  ) {}

  /**
   * @param source the app, among the files beside this one
   * @param optional packages that it has installed too
   */
  static async make(source = 'app.ts', optional: readonly string[] = []): Promise<BundledProject> {
    const [folder = '', away = ''] = await Promise.all([temporaryFolder('project'), temporaryFolder('away')]);
    const modules = join(folder, 'node_modules');
    const own = join(modules, 'nestjs-gearmonkey');
    // A copy: a link would lead to the repository, which has the optional packages.
    await cp(join(ROOT, 'dist'), join(own, 'dist'), { recursive: true });
    await cp(join(ROOT, 'package.json'), join(own, 'package.json'));
    for (const name of [...INSTALLED, ...optional]) await linked(name, modules);
    if (optional.includes(TERMINUS.name)) await terminusAlone(modules);
    await mkdir(join(folder, 'dist'));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await writeFile(join(folder, 'dist/main.js'), await compiled(source));
    return new BundledProject(folder, away, optional);
  }

  /** Bundles as the document says under this heading. @returns the folder with what was made, and nothing else near it */
  async bundle(heading: string): Promise<string> {
    const { language, code } = await this.documented(heading);
    if (language === 'sh') await this.run('sh', '-eu', '-c', code.replace(/^npx /gm, ''));
    else {
      await writeFile(join(this.folder, `${heading}.config.mjs`), code);
      const program = join(ROOT, 'test/bundlers/run-config.mjs');
      await this.run(process.execPath, program, heading, `${heading}.config.mjs`);
    }
    const moved = await mkdtemp(join(this.away, 'app-'));
    await cp(join(this.folder, 'bundle'), moved, { recursive: true });
    return moved;
  }

  /** Before a bundle is run: it may have kept paths. */
  async removeSources(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await Promise.all([this.folder, this.away].map((each) => rm(each, { recursive: true, force: true })));
  }

  /** The first block of code under a heading, without the names of packages that the app uses, as the document says. */
  private async documented(heading: string): Promise<{ language: string; code: string }> {
    const text = await readFile(DOCUMENT, 'utf8');
    const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
    const { 1: language = '', 2: code = '' } = /^```(\w+)\n(.*?)^```$/ms.exec(section) ?? [];
    if (code === '') throw new Error(`${DOCUMENT} has no block of code under "${heading}".`);
    const lists = this.optional.reduce(
      (left, name) =>
        left.replaceAll(` --external:${name}`, '').replaceAll(`|${name.replace('@nestjs/', '')})`, ')'),
      code,
    );
    return { language, code: lists };
  }

  private async run(command: string, ...args: string[]): Promise<void> {
    const path = [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
    const env = { ...process.env, PATH: path, NODE_OPTIONS: '' };
    await runProgram(command, args, { cwd: this.folder, env, timeout: TIMEOUT_MS });
  }
}

function temporaryFolder(what: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `gearmonkey-${what}-`));
}

async function linked(name: string, modules: string): Promise<void> {
  await mkdir(dirname(join(modules, name)), { recursive: true });
  await symlink(join(ROOT, 'node_modules', name), join(modules, name));
}

async function terminusAlone(modules: string): Promise<void> {
  await rm(join(modules, TERMINUS.name));
  await cp(join(ROOT, 'node_modules', TERMINUS.name), join(modules, TERMINUS.name), {
    recursive: true,
    dereference: true,
  });
  for (const name of TERMINUS.needs) await linked(name, modules);
}

async function compiled(path: string): Promise<string> {
  const source = await readFile(join(ROOT, 'test/bundlers', path), 'utf8');
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    experimentalDecorators: true,
  };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}
