/**
 * Writes the scripts that programs in other languages load, each whole: those of qless into dist/qless, and those of
 * GearMonkey in place of the files that they are put together from. Run it after embed.mjs.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LUA } from '../dist/gearmonkey/wire/lua.embedded.js';
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

const SCRIPTS = inDist('gearmonkey/wire/scripts');
rmSync(SCRIPTS, { recursive: true, force: true });
for (const [name, text] of wholeScripts(LUA)) write(`${SCRIPTS}/${name}.lua`, text);
