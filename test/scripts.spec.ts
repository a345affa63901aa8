import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestProcess, type Ended } from './support/test-process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Everything that people read: documents and the heads of programs. */
const texts = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...filesIn('docs', 'bench', 'sample', 'scripts', 'site', 'test'),
]
  .filter((path) => /\.(md|ts|mjs|py)$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

describe("package.json's scripts", () => {
  it('are at most ten', () => {
    expect(Object.keys(scripts).length).toBeLessThanOrEqual(10);
  });

  it('exist if a text names them', () => {
    expect(missing(/\bnpm run ([\w:-]+)/g, Object.keys(scripts))).toEqual([]);
  });
});

describe('npm run check', () => {
  it('lists its checks, one per line, including all that a text names', async () => {
    const { stdout, code } = await check();
    expect(code).toBe(0);
    const names = [...stdout.matchAll(/^ {2}(\S+) +\S/gm)].map(([, name = '']) => name);
    expect(names).toEqual(expect.arrayContaining(['chaos', 'soak', 'backlog', 'scaling']));
    expect(missing(/\bnpm run check -- ([a-z][\w-]*)/g, names)).toEqual([]);
  });

  it('refuses an unknown name', async () => {
    const { stderr, code } = await check('no-such-check');
    expect(stderr).toContain('got no-such-check');
    expect(code).toBe(2);
  });
});

describe('test/durations.json', () => {
  it('names only suites that exist, and most of them: RECORD_DURATIONS=1 npm run test:full writes it', () => {
    const durations = JSON.parse(readFileSync(new URL('durations.json', import.meta.url), 'utf8')) as object;
    const names = Object.keys(durations);
    expect(names.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
    expect(names.length).toBeGreaterThan(300);
  });
});

function check(...args: string[]): Promise<Ended> {
  return new TestProcess(process.execPath, ['scripts/run.mjs', 'check', ...args]).ended();
}

function missing(pattern: RegExp, names: string[]): string[] {
  return texts.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)]
      .map(([, name = '']) => name)
      .filter((name) => !names.includes(name))
      .map((name) => `${path}: ${name}`),
  );
}

function filesIn(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => join(folder, path))
      .filter((path) => !/node_modules|^site.dist/.test(path)),
  );
}
