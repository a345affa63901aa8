import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkBuild } from './fresh-build.js';

const SOURCES = ['tsconfig.json', 'lib/job/job.ts', 'lib/job', 'lib'];

describe('checkBuild', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'gearmonkey-build-'));
    for (const folder of ['lib/job', 'dist']) mkdirSync(join(root, folder), { recursive: true });
    for (const file of ['tsconfig.json', 'lib/job/job.ts', 'lib/job/job.lua'])
      writeFileSync(join(root, file), '');
    for (const source of SOURCES) change(source, 1);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const build = () => {
    writeFileSync(join(root, 'dist/index.d.ts'), '');
    change('dist/index.d.ts', 2);
  };
  /** Sets the time of a file or folder. */
  const change = (name: string, seconds: number) => utimesSync(join(root, name), seconds, seconds);

  it('accepts declarations that are newer than the sources', () => {
    build();
    change('lib/job/job.lua', 3);
    expect(() => checkBuild(root)).not.toThrow();
  });

  it('refuses missing declarations', () => {
    expect(() => checkBuild(root)).toThrow('dist/index.d.ts does not exist. Run `npm run build`');
  });

  it.each(SOURCES)('refuses declarations that are older than %s', (name) => {
    build();
    change(name, 3);
    expect(() => checkBuild(root)).toThrow(
      `${name} is newer than the declarations in dist/. Run \`npm run build\``,
    );
  });
});
