import { expect } from '@jest/globals';

/** Packages that only other entry points may load, or none. */
const OPTIONAL =
  /node_modules\/(zod|mysql2|pg|kysely|better-sqlite3|libsql|@nestjs\/(swagger|terminus|testing|platform-express)|express|undici|prom-client|@opentelemetry|commander|cli-progress|vite|preact|croner|typescript)\//;
/** Folders of their own: what the root shares with them lies elsewhere. */
const OTHER_ENTRY_POINTS = ['bullmq', 'jobd', 'qless', 'jq', 'testing', 'metrics', 'tracing', 'health'];

/**
 * A program that prints every file that importing the root loads, as a module or by require, and of the package's own the
 * modules that the build has put into them: a line `dist/...` each.
 */
export const LIST_LOADED = `
import { readFileSync, rmSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const list = join(tmpdir(), 'loaded-' + process.pid + '.txt');
const hooks = 'import { appendFileSync } from "node:fs"; let list; export const initialize = (data) => { list = data; };'
  + 'export const load = (url, context, next) => { appendFileSync(list, url + "\\\\n"); return next(url, context); };';
register('data:text/javascript,' + encodeURIComponent(hooks), { data: list });
await import('nestjs-gearmonkey');
const files = [
  ...readFileSync(list, 'utf8').trim().split('\\n'),
  ...Object.keys(createRequire(import.meta.url).cache),
];
const own = files.filter((file) => /^file:.*\\/dist\\/(index|chunks\\/[^/]+)\\.js$/.test(file));
const modules = own.flatMap((file) => readFileSync(new URL(file), 'utf8').match(/(?<=^\\/\\/ )dist\\/\\S+\\.js$/gm) ?? []);
console.log([...files, ...modules].join('\\n'));
rmSync(list);
`;

/** Of what importing the root loaded, what it must not need. @param loaded what `LIST_LOADED` printed */
export function tooMuchOf(loaded: readonly string[]): string[] {
  expect(loaded).toEqual(expect.arrayContaining([expect.stringMatching(/\/dist\/index\.js$/)]));
  expect(loaded).toEqual(expect.arrayContaining(['dist/nest/gearmonkey.module.js']));
  expect(loaded).toEqual(expect.arrayContaining([expect.stringMatching(/node_modules\/ioredis\//)]));
  const others = OTHER_ENTRY_POINTS.map((name) => `dist/${name}/`);
  return loaded.filter((path) => OPTIONAL.test(path) || others.some((folder) => path.includes(folder)));
}
