import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { blocks, textOf } from '../support/documents.js';
import { runProgram } from '../support/test-process.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { pages, RecipeFolder, recipes } from './programs.js';

/** Between what two programs print. */
const BORDER = '--- the next recipe ---\n';

describe('a page of a recipe', () => {
  it.each(pages.map(({ path, text }) => [path, text] as const))('has each part once: %s', (_, text) => {
    const parts = ['The problem', 'The recipe', 'Why it holds', 'What does not'];
    expect(parts.filter((part) => text.split(`**${part}.**`).length !== 2)).toEqual([]);
  });

  it.each(pages.map(({ path }) => path))('has a program with what it prints: %s', (path) => {
    const name = path.slice('docs/recipes/'.length, -'.md'.length);
    expect(recipes.filter((recipe) => recipe.name === name)).toHaveLength(1);
  });
});

describe('the programs of recipes', () => {
  let folder: RecipeFolder;
  beforeAll(async () => {
    folder = await RecipeFolder.make();
  });
  afterAll(() => folder.remove());

  it('print without a server what their pages say', async () => {
    const embedded = recipes.filter(({ needsRedis, packages }) => !needsRedis && packages.length === 0);
    expect(embedded.length).toBeGreaterThan(5);
    const files = await Promise.all(embedded.map((recipe) => folder.write(recipe)));
    // One after the other in a process: to load Nest takes longer than all of them.
    const program = files
      .map((file) => `await import(${JSON.stringify(file)});`)
      .join(`process.stdout.write(${JSON.stringify(BORDER)});`);
    const { REDIS_URL: _, ...env } = process.env;
    const { stdout } = await runProgram(process.execPath, ['--input-type=module', '-e', program], { env });
    const printed = stdout.split(BORDER);
    expect(Object.fromEntries(embedded.map(({ name }, index) => [name, printed[index]]))).toEqual(
      Object.fromEntries(embedded.map(({ name, prints }) => [name, prints])),
    );
  });
});

describe('the scaler of the recipe for Kubernetes', () => {
  const redis = useRedis();
  const apps = useApps();

  it('counts a list that has the jobs that wait', async () => {
    const code = blocks.find(({ path, file }) => path.endsWith('/kubernetes.md') && file === 'scaler.yaml');
    const [document] = parseAllDocuments(code?.code ?? '');
    expect(document?.errors).toEqual([]);
    const list = String(document?.getIn(['spec', 'triggers', 0, 'metadata', 'listName']));
    expect(textOf('docs/recipes/kubernetes.md')).toContain("defineJob<{ frames: number }, string>('render')");

    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: redis.url })] });
    await app.get(GearMonkeyClient).runMany('render', [{ frames: 1 }, { frames: 2 }, { frames: 3 }]);
    await expect(redis.redis.llen(list)).resolves.toBe(3);
  });
});
