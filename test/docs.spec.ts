import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { transformSync, type Options } from '@swc/core';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GearMonkeyClient, GearMonkeyModule, Worker, type RunningJob } from 'nestjs-gearmonkey';
import { LUA } from '../lib/gearmonkey/core/wire/lua.embedded.js';
import { wholeScripts } from '../lib/redis/script.js';
import { blocks, documents, textOf } from './support/documents.js';
import { killProcesses, TestProcess } from './support/test-process.js';
import { furtherInFullTier } from './support/tier.js';
import { useApps } from './support/use-apps.js';
import { useRedis } from './support/use-redis.js';

// A script without types. To load TypeScript itself, which public-api.spec.ts does, takes longer than to run the programs.
const { swcOptions } = (await import(new URL('../scripts/swc-options.mjs', import.meta.url).href)) as {
  swcOptions: Options;
};
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DEFAULT_URL = 'redis://127.0.0.1:6379';

describe('the documents', () => {
  it('have blocks of every tested kind', () => {
    const kinds = new Set(blocks.map(({ language }) => language));
    expect([...kinds]).toEqual(expect.arrayContaining(['ts', 'sh', 'python', 'lua']));
    expect(blocks.some(({ runs }) => runs)).toBe(true);
  });

  it.each(documents.map(({ path }) => path))('%s has no dead relative link', (path) => {
    const dead = [...textOf(path).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
      .map(([, link]) => link ?? '')
      .filter((link) => !resolves(path, link));
    expect(dead).toEqual([]);
  });

  it('are all listed in the index', () => {
    const index = textOf('docs/README.md');
    const pages = documents.map(({ path }) => path).filter((path) => /^docs.(?!README)/.test(path));
    expect(pages.filter((path) => !index.includes(`](${path.slice('docs/'.length)})`))).toEqual([]);
  });

  it.each(documents.map(({ path }) => path))('%s names only existing tests', (path) => {
    const named = [...textOf(path).matchAll(/\btest\/[\w./-]+\.m?ts\b/g)].map(([file]) => file);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('have the script of the protocol with its SHA-1', () => {
    const script = blocks.find(({ language }) => language === 'lua')?.code.trimEnd() ?? '';
    expect(createHash('sha1').update(script).digest('hex')).toBe('5231827cd49b540660ef44969b38cc858f157824');
  });
});

describe('TypeScript in the documents', () => {
  const redis = useRedis();

  const runnable = blocks
    .filter(({ runs }) => runs)
    .map(({ path, line, code }) => [`${path}:${line}`, code] as const);

  it.each(runnable)('runs without a server: %s', async (_, code) => {
    await expect(run(process.execPath, ['--input-type=module', '-'], toJavaScript(code))).resolves.toContain(
      'Hello, Ada!',
    );
  });

  it.each(furtherInFullTier(runnable.slice(0, 1), runnable.slice(1)))(
    'runs on Redis: %s',
    async (_, code) => {
      const environment = { REDIS_URL: redis.url };
      await expect(
        run(process.execPath, ['--input-type=module', '-'], toJavaScript(code), environment),
      ).resolves.toContain('Hello, Grace!');
    },
  );
});

describe('other languages in the documents', () => {
  const redis = useRedis();
  const apps = useApps();
  const folders: string[] = [];
  afterEach(async () => {
    await killProcesses();
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
  });

  /** A folder with the scripts as the build writes them. */
  async function scriptsAsBuilt(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-scripts-'));
    folders.push(folder);
    for (const [name, text] of wholeScripts(LUA)) await writeFile(join(folder, `${name}.lua`), text);
    return folder;
  }

  @Injectable()
  class Greeter {
    @Worker('greet')
    greet({ name }: { name: string }, _job: RunningJob) {
      return `Hello, ${name}!`;
    }
  }

  async function startApp(providers: (typeof Greeter)[] = []): Promise<GearMonkeyClient> {
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: redis.url })],
      providers,
    });
    return app.get(GearMonkeyClient);
  }

  it('has a client in Redis commands that our worker answers', async () => {
    await startApp([Greeter]);
    const commands = blockWith('sh', 'redis-cli LPUSH');
    const shell = commands.replaceAll('redis-cli', `redis-cli -p ${redis.port}`);
    await expect(run('sh', ['-eu', '-'], shell)).resolves.toMatch(/"Hello, Ada!"\n$/);
  });

  it('has a client in Python that our worker answers', async () => {
    await startApp([Greeter]);
    const client = blockWith('python', 'def call').replace(DEFAULT_URL, redis.url);
    await expect(run('/usr/bin/python3', ['-'], client)).resolves.toBe('"Hello, Ada!"\n');
  });

  it('has a worker in Python that answers our client and writes the documented fields', async () => {
    const worker = blockWith('python', 'def work')
      .replace(DEFAULT_URL, redis.url)
      .replace(/^SCRIPTS = .*$/m, `SCRIPTS = ${JSON.stringify(await scriptsAsBuilt())}`);
    start('/usr/bin/python3', ['-'], worker);
    const client = await startApp();

    await expect(client.call('shout', 'hi', { timeout: '10s' })).resolves.toBe('HI');
    const failing = client.call('shout', 1, { timeout: '10s', retry: { attempts: 2 } });
    await expect(failing).rejects.toThrow("'int' object has no attribute");
    const [done, failed] = await Promise.all([1, 2].map((id) => redis.redis.hgetall(`job:shout:${id}`)));
    expect(Object.keys(done ?? {}).toSorted()).toEqual(
      [...FINISHED_FIELDS, 'input', 'output', 'status'].toSorted(),
    );
    for (const field of ['error:1', 'error:2', 'error']) {
      expect(JSON.parse(failed?.[field] ?? '')).toMatchObject({ name: 'AttributeError' });
    }
    await expect(client.rollCall('shout')).resolves.toBe(1);
  });
});

/** Of those that docs/understand/protocol/job.md lists, what a job has that went through once. */
const FINISHED_FIELDS = ['attempts', 'created', 'finished', 'mark', 'options', 'settled', 'started', 'token'];

function blockWith(language: string, content: string): string {
  const block = blocks.find(
    (candidate) => candidate.language === language && candidate.code.includes(content),
  );
  if (!block) throw new Error(`No document has a block of ${language} with ${content}.`);
  return block.code;
}

function resolves(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? from : join(dirname(from), file);
  if (!existsSync(join(ROOT, path))) return false;
  return anchor === undefined || anchorsOf(readFileSync(join(ROOT, path), 'utf8')).includes(anchor);
}

/** As GitHub makes them of headings. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function toJavaScript(code: string): string {
  return transformSync(code, swcOptions).code;
}

/** Feeds the program to an interpreter's stdin. */
function start(
  command: string,
  args: readonly string[],
  program: string,
  environment: Record<string, string> = {},
): TestProcess {
  const { REDIS_URL: _, ...inherited } = process.env;
  const child = new TestProcess(command, args, { env: { ...inherited, ...environment } });
  child.input(program);
  return child;
}

/** What the program prints. @throws with all that it wrote when it doesn't end with 0 */
async function run(...program: Parameters<typeof start>): Promise<string> {
  const child = start(...program);
  const { code, stdout } = await child.ended();
  if (code !== 0) throw child.error('failed');
  return stdout;
}
