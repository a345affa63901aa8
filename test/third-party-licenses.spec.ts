import { describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The folders of the packages that a program is bundled with. */
async function packagesOf(entry: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    ...{ bundle: true, write: false, metafile: true, format: 'esm', outdir: 'out' },
    ...{ jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'silent' },
    // What Vite makes of `?sharedworker&url`.
    external: ['*?sharedworker&url', '*?worker&url'],
  });
  const folders = Object.keys(metafile.inputs).flatMap((input) => {
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(resolve(ROOT, input)) ?? [];
    return folder === undefined ? [] : [folder];
  });
  return [...new Set(folders)].sort();
}

describe('THIRD-PARTY-LICENSES.txt', () => {
  it.each(['main.tsx', 'live/worker.ts'])(
    "has the version and licence of each package in the page's %s",
    async (entry) => {
      const told = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
      const folders = await packagesOf(`dashboard/src/${entry}`);
      expect(folders.length).toBeGreaterThan(0);
      const missing = folders.filter((folder) => {
        const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
          name: string;
          version: string;
        };
        const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each)) ?? '';
        const license = readFileSync(join(folder, file), 'utf8').trim();
        return !told.includes(`${name} ${version}\n\n${license}\n`);
      });
      expect(missing).toEqual([]);
    },
  );
});
