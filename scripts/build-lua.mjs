/**
 * Writes the scripts that programs in other languages load, each whole: those of qless into dist/qless, and those of
 * GearMonkey in place of the files that they are put together from. Run it after embed.mjs.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LUA } from '../dist/gearmonkey/core/wire/lua.embedded.js';
import { builtScripts } from '../dist/qless/wire/assemble.js';
import { wholeScripts } from '../dist/redis/script.js';

/** @param {string} path of dist/ */
const inDist = (path) => fileURLToPath(new URL(`../dist/${path}`, import.meta.url));

/** @param {string} file @param {string} text */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

for (const [path, text] of builtScripts()) write(inDist(`qless/${path}`), text);

for (const path of readdirSync(inDist('gearmonkey'), { recursive: true, encoding: 'utf8' }))
  if (path.endsWith('.lua')) rmSync(inDist(`gearmonkey/${path}`));
for (const [name, text] of wholeScripts(LUA)) write(inDist(`gearmonkey/scripts/${name}.lua`), text);
