/**
 * Builds the page of the dashboard into dist/dashboard/page/, from dashboard/.
 *
 *   node scripts/build-page.mjs
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../dashboard/', import.meta.url));
const outDir = fileURLToPath(new URL('../dist/dashboard/page/', import.meta.url));

if (existsSync(`${root}vite.config.ts`)) {
  await build({
    root,
    configFile: `${root}vite.config.ts`,
    // Relative, so that the page works under any prefix.
    base: './',
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
  });
}
