/**
 * Builds the page of the dashboard into dist/dashboard/page/, from dashboard/.
 *
 *   node scripts/build-page.mjs
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { addLicenses } from './licenses.mjs';

const root = fileURLToPath(new URL('../dashboard/', import.meta.url));
const outDir = fileURLToPath(new URL('../dist/dashboard/page/', import.meta.url));

/** Modules that have become part of the page, and of its workers. @type {Set<string>} */
const included = new Set();
const noteIncluded = () => ({
  name: 'note-included',
  /** @param {unknown} _options @param {Record<string, { moduleIds?: string[] }>} bundle */
  generateBundle(_options, bundle) {
    for (const { moduleIds = [] } of Object.values(bundle))
      for (const id of moduleIds) included.add(pathOf(id));
  },
});

if (existsSync(`${root}vite.config.ts`)) {
  await build({
    root,
    configFile: `${root}vite.config.ts`,
    // Relative, so that the page works under any prefix.
    base: './',
    logLevel: 'warn',
    plugins: [noteIncluded()],
    worker: { plugins: () => [noteIncluded()] },
    build: { outDir, emptyOutDir: true },
  });
  addLicenses(included);
}

/** Without what marks a module that a plugin makes, and the query. @param {string} id */
function pathOf(id) {
  return id.replace(/^\0/, '').replace(/\?.*$/, '');
}
