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
/** What a plain job does, and what a job does with each feature that is still there: told by the features' names. */
const PROGRAM = `
import './lib/gearmonkey/features/checks.js';
import { embeddedServer, openEmbedded } from './lib/embedded/open-embedded.js';
import { GearMonkeyClient } from './lib/gearmonkey/client.js';
import { codecOf } from './lib/job/codec.js';
import { defineJob } from './lib/job/job-definition.js';
import { bindHandler } from './lib/worker/job-handler.js';
import { JobWorker } from './lib/worker/job-worker.js';
import { lastValueFrom } from 'rxjs';

const removed = new Set(process.argv.slice(2));
const { store, source } = openEmbedded(embeddedServer('memory:'));
const client = new GearMonkeyClient(store);
const limited = defineJob('limited', { limit: { concurrency: 1 } });
const stepped = defineJob('stepped', {});
const streamed = defineJob('streamed', {});
const kept = defineJob('kept', { keep: { success: { age: '1h' } } });
const double = (input) => 2 * Number(input);
const bindings = [bindHandler(defineJob('double'), {}, double)];
if (!removed.has('limits')) bindings.push(bindHandler(limited, {}, double));
if (!removed.has('steps')) bindings.push(bindHandler(stepped, {}, (input, job) => job.step('one', () => double(input))));
if (!removed.has('streams')) bindings.push(bindHandler(streamed, {}, (input, job) => job.log(String(input))));
if (!removed.has('keep')) bindings.push(bindHandler(kept, {}, double));
const worker = new JobWorker(source, bindings, { codec: codecOf('json'), maxPayloadBytes: 1000, log: console });
await worker.start();
const job = await client.run('double', 21, { blocking: true });
const later = await client.run('double', 21, { delay: '1h' });
const plain = [await job.result(), (await job.get()).state, (await later.get()).state, await client.rollCall('double')];

const uses = {
  edits: async () => (await later.cancel()) && (await later.get()).state === 'cancelled',
  flows: async () => (await (await client.run('double', 2, { after: [job] })).result()) === 4,
  keep: async () => (await client.call(kept, 2)) === 4,
  limits: async () => (await client.call(limited, 2)) === 4,
  schedules: async () => (await client.schedules.put('double', { id: 's', every: '1h' })).id === 's',
  signals: async () => (await client.run('double', 1, { delay: '1h' })).signal('go'),
  statistics: async () => (await client.statistics('double')).length > 0,
  steps: async () => (await client.call(stepped, 2)) === 4,
  streams: async () => (await lastValueFrom((await client.run(streamed, 2)).log$)) === '2',
  tags: async () => {
    await client.run('double', 2, { tags: ['a'], delay: '1h' });
    return removed.has('views') || (await client.find('double', { tag: 'a' })).total === 1;
  },
  unique: async () => {
    const options = { unique: { key: 'a' }, delay: '1h' };
    const [one, other] = [await client.run('double', 1, options), await client.run('double', 2, options)];
    return one.created && !other.created && one.id === other.id;
  },
  views: async () => (await client.list('double', { state: 'succeeded' })).total > 0,
};
const works = [];
for (const [name, use] of Object.entries(uses)) if (!removed.has(name) && (await use())) works.push(name);
await worker.stop(0);
console.log(JSON.stringify({ plain, works }));
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
  it.each([...cases, ['all of them', FEATURES] as const])(
    'plain jobs run, and those of the others: %s',
    async (_, removed) => {
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
      const program = ['--import', loader, join(folder, 'program.ts'), ...removed];
      const { stdout } = await runProgram('node', program, { cwd: folder });
      expect(JSON.parse(stdout)).toEqual({
        plain: [42, 'succeeded', 'scheduled', 1],
        works: FEATURES.filter((name) => !removed.includes(name)),
      });
    },
  );
});
