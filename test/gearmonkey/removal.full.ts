import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runProgram } from '../support/test-process.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FEATURES = readdirSync(join(ROOT, 'lib/gearmonkey/features'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** Enqueues a plain job, runs it, and reads its output. */
const PROGRAM = `
import './lib/gearmonkey/features/checks.js';
import { embeddedServer, openEmbedded } from './lib/embedded/open-embedded.js';
import { GearMonkeyClient } from './lib/gearmonkey/client.js';
import { codecOf } from './lib/job/codec.js';
import { defineJob } from './lib/job/job-definition.js';
import { bindHandler } from './lib/worker/job-handler.js';
import { JobWorker } from './lib/worker/job-worker.js';

const { store, source } = openEmbedded(embeddedServer('memory:'));
const client = new GearMonkeyClient(store);
const binding = bindHandler(defineJob('double'), {}, (input) => 2 * Number(input));
const worker = new JobWorker(source, [binding], { codec: codecOf('json'), maxPayloadBytes: 1000, log: console });
await worker.start();
const job = await client.run('double', 21, { blocking: true });
console.log('output', await job.result(), (await job.get()).state);
await worker.stop(0);
process.exit(0);
`;

/** The features' parts of the doctor, without that of one. */
function uncheck(name: string, list: string): string {
  const line = new RegExp(`^import { (\\w+) } from '\\./${name}/.*\n`, 'm');
  const part = line.exec(list)?.[1];
  return part === undefined ? list : list.replace(line, '').replace(new RegExp(`(?<=\\W)${part}\\b,? ?`), '');
}

describe('Without its folder and its line in the list of features', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gearmonkey-removal-'));
    for (const name of ['scripts', 'package.json'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const cases = FEATURES.map((name): [string, readonly string[]] => [name, [name]]);
  it.each([...cases, ['all of them', FEATURES] as const])('plain jobs run: %s', async (_, removed) => {
    const lib = join(folder, 'lib');
    rmSync(lib, { recursive: true, force: true });
    cpSync(join(ROOT, 'lib'), lib, { recursive: true });
    const list = join(lib, 'gearmonkey/features/index.ts');
    const checks = join(lib, 'gearmonkey/features/checks.ts');
    let text = readFileSync(list, 'utf8');
    for (const name of removed) {
      // But its Lua: scripts of the core include parts of it, which only functions and jobs that use the feature run.
      for (const path of readdirSync(join(lib, 'gearmonkey/features', name)))
        if (path.endsWith('.ts')) rmSync(join(lib, 'gearmonkey/features', name, path));
      const before = text;
      text = text
        .replace(new RegExp(`^import [^;]*'\\./${name}/[^;]*;\n`, 'gm'), '')
        .replace(new RegExp(`^  ${name},\n`, 'm'), '');
      expect(text).not.toBe(before);
      writeFileSync(checks, uncheck(name, readFileSync(checks, 'utf8')));
    }
    writeFileSync(list, text);
    const loader = pathToFileURL(join(folder, 'scripts/typescript.mjs')).href;
    const { stdout } = await runProgram('node', ['--import', loader, join(folder, 'program.ts')], {
      cwd: folder,
    });
    expect(stdout).toContain('output 42 succeeded');
  });
});
