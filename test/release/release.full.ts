import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documents } from '../support/documents.js';
import { TestProcess } from '../support/test-process.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Tarball {
  readonly file: string;
  readonly paths: string[];
  readonly packed: number;
  readonly unpacked: number;
}
interface Consumer {
  readonly installed: number;
  runReadme(): Promise<string>;
  checkTypes(): void;
}

/** Scripts without types. */
const load = (name: string): Promise<unknown> =>
  import(new URL(`../../scripts/release/${name}.mjs`, import.meta.url).href);
const { LIMITS, problemsOfContents, problemsOfSizes } = (await load('rules')) as {
  LIMITS: Record<string, number>;
  problemsOfContents: (paths: string[], manifest: unknown) => string[];
  problemsOfSizes: (sizes: Record<string, number>) => string[];
};
const { Consumer, pack } = (await load('tarball')) as {
  Consumer: new (folder: string, tarball: string) => Consumer;
  pack: (folder: string) => Tarball;
};

describe('the tarball of a release', () => {
  let folder: string;
  let tarball: Tarball;
  let app: Consumer;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-release-'));
    tarball = pack(folder);
    app = new Consumer(join(folder, 'app'), tarball.file);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const sizes = (): Record<string, number> => ({
    packed: tarball.packed,
    unpacked: tarball.unpacked,
    installed: app.installed,
  });

  it('has every file that package.json names, and no notes, pictures, sources or tests', async () => {
    const manifest: unknown = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    expect(problemsOfContents(tarball.paths, manifest)).toEqual([]);
    expect(tarball.paths).toContain('docs/understand/protocol.md');
  });

  it('is within its limits, and these are not far above', () => {
    expect(problemsOfSizes(sizes())).toEqual([]);
    for (const [name, limit] of Object.entries(LIMITS)) expect(sizes()[name]).toBeGreaterThan(0.8 * limit);
  });

  it('has the size that the documents say', () => {
    const said = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/(\d+\.\d) MB to download,? (?:and )?(\d+\.\d) MB installed/g)].map(
        ([, packed, installed]) => ({ path, packed: Number(packed), installed: Number(installed) }),
      ),
    );
    expect(said.length).toBeGreaterThan(0);
    for (const { path, packed, installed } of said) {
      // In steps of 0.1 MB, and the packages that it needs have new versions now and then.
      const off = [packed - tarball.packed / 1e6, installed - app.installed / 1e6].map(Math.abs);
      expect({ path, isRight: (off[0] ?? 1) <= 0.1 && (off[1] ?? 1) <= 0.3 }).toEqual({
        path,
        isRight: true,
      });
    }
  });

  it("runs the README's program in an app that has nothing else", async () => {
    await expect(app.runReadme()).resolves.toMatch(/Hello, Ada![^]*Hello, Grace!/);
  });

  it('gives types to every way to import it, as publint and arethetypeswrong say', () => {
    expect(() => app.checkTypes()).not.toThrow();
  });
});

describe('npm run release', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-clone-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('makes nothing of a tree with something that is not committed, and says all that is missing', async () => {
    const clone = join(folder, 'clone');
    await new TestProcess('git', ['clone', '-q', '--no-hardlinks', ROOT, clone]).ended();
    await writeFile(join(clone, 'left.txt'), 'not committed');
    const release = (...args: string[]) =>
      new TestProcess(process.execPath, ['scripts/release/main.mjs', ...args], { cwd: clone }).ended();

    const rehearsed = await release('--dry-run');
    expect(rehearsed.code).toBe(1);
    expect(rehearsed.stderr).toBe('release: There is something that is not committed: git status\n');
    const real = await release();
    expect(real.code).toBe(1);
    expect(real.stderr).toMatch(/not committed[^]*has no tag v[^]*Not in the workflow/);
    await expect(release('--force')).resolves.toMatchObject({ code: 1 });
  });
});
