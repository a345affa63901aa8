import { transformSync, type Options } from '@swc/core';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { documents } from '../support/documents.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM =
  /^```(ts|typescript) prints(?: (redis|packages=\S+))?[^\n]*\n(.*?)^```\n\n```text\n(.*?)^```$/gms;

// A script without types.
const { swcOptions } = (await import(new URL('../../scripts/swc-options.mjs', import.meta.url).href)) as {
  swcOptions: Options;
};

/** A program of a recipe, which stands on its page above what it prints. */
export interface Recipe {
  /** Name of its page. */
  readonly name: string;
  readonly code: string;
  readonly prints: string;
  readonly needsRedis: boolean;
  /** Packages that an app installs for it and this repository does not have. */
  readonly packages: readonly string[];
}

/** Every page below docs/recipes. */
export const pages = documents.filter(({ path }) => path.startsWith('docs/recipes/'));

export const recipes: readonly Recipe[] = pages.flatMap(({ path, text }) =>
  [...text.matchAll(PROGRAM)].map(([, , mark = '', code = '', prints = '']) => ({
    name: path.slice('docs/recipes/'.length, -'.md'.length),
    code,
    prints,
    needsRedis: mark === 'redis',
    packages: mark.startsWith('packages=') ? mark.slice('packages='.length).split(',') : [],
  })),
);

/** Recipes without packages of their own, as modules of a folder. */
export class RecipeFolder {
  private constructor(readonly path: string) {}

  static async make(): Promise<RecipeFolder> {
    const folder = new RecipeFolder(await mkdtemp(join(tmpdir(), 'gearmonkey-recipes-')));
    await symlink(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
    return folder;
  }

  /** Returns the file of its program. */
  async write({ name, code }: Recipe): Promise<string> {
    const file = join(this.path, `${name}.mjs`);
    const own = (_: string, entry: string = '') =>
      `'${pathToFileURL(join(ROOT, 'dist', entry, 'index.js')).href}'`;
    const program = transformSync(code.replaceAll(/'nestjs-gearmonkey(\/\w+)?'/g, own), swcOptions).code;
    await writeFile(file, program);
    return file;
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}
