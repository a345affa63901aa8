/** Runs one of the samples: `npm run sample -- 01-hello`. They are TypeScript, compiled as they are loaded. */
import { readdirSync } from 'node:fs';
import '../scripts/typescript.mjs';

const samples = readdirSync(new URL('.', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);
const name = process.argv[2];

if (samples.includes(name)) {
  process.argv.splice(2, 1);
  await import(new URL(`./${name}/main.ts`, import.meta.url));
} else {
  console.error(`Expected one of ${samples.join(', ')}: npm run sample -- 01-hello`);
  process.exitCode = 2;
}
