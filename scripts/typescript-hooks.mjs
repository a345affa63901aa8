/**
 * Node's hooks of typescript.mjs: `./name.js` is `./name.ts` if that exists, and is compiled when it is loaded.
 *
 * Tests start more than a hundred programs, so what was compiled is kept in node_modules/.cache, a file for each source.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { swcOptions } from './swc-options.mjs';

const require = createRequire(import.meta.url);
const cache = fileURLToPath(new URL('../node_modules/.cache/typescript', import.meta.url));
const options = { ...swcOptions, swcrc: false, sourceMaps: true, inlineSourcesContent: false };
/** Compiled again when the compiler or its options change. */
const compiler = JSON.stringify([require('@swc/core/package.json').version, options]);

/** @type {import('node:module').ResolveHook} */
export function resolve(specifier, context, next) {
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && !context.parentURL?.includes('/node_modules/')) {
    const url = new URL(specifier.replace(/js$/, 'ts'), context.parentURL);
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export function load(url, context, next) {
  if (!/^file:.*\.ts$/.test(url)) return next(url, context);
  return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
}

/** @param {string} path */
function compiled(path) {
  const source = readFileSync(path, 'utf8');
  const mark = `\n//# of ${createHash('sha1').update(compiler).update(source).digest('hex')}\n`;
  const kept = join(cache, `${path}.js`);
  const before = existsSync(kept) ? readFileSync(kept, 'utf8') : '';
  if (before.endsWith(mark)) return before;
  const { code, map = '' } = require('@swc/core').transformSync(source, { ...options, filename: path });
  const result = `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}${mark}`;
  mkdirSync(dirname(kept), { recursive: true });
  // For test/support/runner: Jest reads maps from files.
  write(`${kept}.map`, map);
  write(kept, result);
  return result;
}

/** Under another name first: other processes may be reading it. @param {string} file @param {string} text */
function write(file, text) {
  const written = `${file}.${process.pid}`;
  writeFileSync(written, text);
  renameSync(written, file);
}
