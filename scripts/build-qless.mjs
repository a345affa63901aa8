/** Writes the scripts that other languages load into dist/qless. Run it after `nest build`, which compiles the assembler and copies the parts. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtScripts } from '../dist/qless/wire/assemble.js';

for (const [path, text] of builtScripts()) {
  const file = fileURLToPath(new URL(`../dist/qless/${path}`, import.meta.url));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
