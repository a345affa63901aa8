import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { GearMonkeyClient, GearMonkeyModule, Worker, type RunningJob } from 'nestjs-gearmonkey';
import { killProcesses, TestProcess } from './support/test-process.js';
import { compilerHost } from './support/type-check.js';
import { useApps } from './support/use-apps.js';
import { useRedis } from './support/use-redis.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DEFAULT_URL = 'redis://127.0.0.1:6379';

interface Block {
  /** Document and line, for messages. */
  readonly where: string;
  readonly language: string;
  /** Whether it says that it can be run as it is. */
  readonly runs: boolean;
  /** A name that other blocks of its document import it by. */
  readonly file?: string | undefined;
  readonly code: string;
}

const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...markdownIn('docs'),
  ...markdownIn('sample'),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

const blocks = documents.flatMap(({ path, text }) => blocksOf(path, text));

describe('the documents', () => {
  it('have blocks of every tested kind', () => {
    const kinds = new Set(blocks.map(({ language }) => language));
    expect([...kinds]).toEqual(expect.arrayContaining(['ts', 'sh', 'python', 'lua']));
    expect(blocks.some(({ runs }) => runs)).toBe(true);
  });

  it.each(documents.map(({ path }) => path))('%s has no dead relative link', (path) => {
    const { text } = documents.find((document) => document.path === path) ?? { text: '' };
    const dead = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
      .map(([, link]) => link ?? '')
      .filter((link) => !resolves(path, link));
    expect(dead).toEqual([]);
  });

  it('are all listed in the index', () => {
    const index = documents.find(({ path }) => path === 'docs/README.md')?.text ?? '';
    const pages = documents.map(({ path }) => path).filter((path) => /^docs.(?!README)/.test(path));
    expect(pages.filter((path) => !index.includes(`](${path.slice('docs/'.length)})`))).toEqual([]);
  });

  it.each(documents.map(({ path }) => path))('%s names only existing tests', (path) => {
    const { text } = documents.find((document) => document.path === path) ?? { text: '' };
    const named = [...text.matchAll(/\btest\/[\w./-]+\.m?ts\b/g)].map(([file]) => file);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('name every option, with its default', () => {
    const page = documents.find(({ path }) => path === 'docs/options.md')?.text ?? '';
    const undocumented = documentedOptions().filter(({ name, defaultValue }) => {
      const rows = page.split('\n').filter((line) => line.startsWith(`| \`${name}\` `));
      return !rows.some((row) => row.replaceAll('`', '').includes(defaultValue.replaceAll('`', '')));
    });
    expect(undocumented).toEqual([]);
  });

  it('have the script of the protocol with its SHA-1', () => {
    const script = blocks.find(({ language }) => language === 'lua')?.code.trimEnd() ?? '';
    expect(createHash('sha1').update(script).digest('hex')).toBe('5231827cd49b540660ef44969b38cc858f157824');
  });
});

describe('TypeScript in the documents', () => {
  const redis = useRedis();

  it('compiles with the strictness of the package', () => {
    expect(typeErrors(blocks.filter(({ language }) => language === 'ts'))).toEqual([]);
  });

  const runnable = blocks.filter(({ runs }) => runs).map((block) => [block.where, block] as const);

  it.each(runnable)('runs without a server: %s', async (_, block) => {
    await expect(
      run(process.execPath, ['--input-type=module', '-'], toJavaScript(block.code)),
    ).resolves.toContain('Hello, Ada!');
  });

  it.each(runnable)('runs on Redis: %s', async (_, block) => {
    const environment = { REDIS_URL: redis.url };
    await expect(
      run(process.execPath, ['--input-type=module', '-'], toJavaScript(block.code), environment),
    ).resolves.toContain('Hello, Grace!');
  });
});

describe('other languages in the documents', () => {
  const redis = useRedis();
  const apps = useApps();
  afterEach(killProcesses);

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
    const shell = commands.replaceAll('redis-cli', `redis-cli -p ${redis.server.port}`);
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
      .replace(/^SCRIPTS = .*$/m, `SCRIPTS = ${JSON.stringify(join(ROOT, 'lib/gearmonkey/wire/scripts'))}`);
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

/** Of those that docs/understand/protocol.md lists, what a job has that went through once. */
const FINISHED_FIELDS = ['attempts', 'created', 'finished', 'mark', 'options', 'settled', 'started', 'token'];

function markdownIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .map((path) => join(folder, String(path)))
    .filter((path) => path.endsWith('.md'));
}

function blocksOf(path: string, text: string): Block[] {
  return [...text.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map(
    ({ 1: language = '', 2: marks = '', 3: code = '', index }) => ({
      where: `${path}:${text.slice(0, index).split('\n').length}`,
      language,
      runs: marks.split(' ').includes('run'),
      file: /\bfile=(\S+)/.exec(marks)?.[1],
      code,
    }),
  );
}

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

function compilerOptions(): ts.CompilerOptions {
  const path = join(ROOT, 'tsconfig.test.json');
  return ts.parseJsonConfigFileContent(ts.readConfigFile(path, ts.sys.readFile).config, ts.sys, ROOT).options;
}

/** Compiles the blocks together, each as a file of its own that is never written. */
function typeErrors(sources: readonly Block[]): string[] {
  const nameOf = ({ file }: Block, index: number) => file ?? `docs-block-${index}.ts`;
  const files = new Map(sources.map((block, index) => [join(ROOT, 'test', nameOf(block, index)), block]));
  const options = compilerOptions();
  const host = compilerHost(options);
  const { fileExists, readFile } = host;
  const getSourceFile = host.getSourceFile.bind(host);
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.code ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const block = files.get(path);
    return block ? ts.createSourceFile(path, block.code, version) : getSourceFile(path, version, ...rest);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([path, { where }]) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => `${where}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`),
  );
}

function toJavaScript(code: string): string {
  const options = { ...compilerOptions(), module: ts.ModuleKind.ESNext };
  return ts.transpileModule(code, { compilerOptions: options }).outputText;
}

const OPTION_TYPES = [
  'GearMonkeyModuleOptions',
  'DefinitionOptions',
  'WorkerDecoratorOptions',
  'RetryOptions',
  'LimitOptions',
  'RunOptions',
];

/** The options users can set, as their types have them. */
function documentedOptions(): { name: string; defaultValue: string }[] {
  const options = compilerOptions();
  const program = ts.createProgram([join(ROOT, 'lib/index.ts')], options, compilerHost(options));
  const checker = program.getTypeChecker();
  return OPTION_TYPES.flatMap((name) => {
    const source = program.getSourceFile(join(ROOT, 'lib/index.ts'));
    const exported = checker
      .getExportsOfModule(checker.getSymbolAtLocation(source as ts.Node) as ts.Symbol)
      .find((symbol) => symbol.name === name) as ts.Symbol;
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
    return checker.getDeclaredTypeOfSymbol(symbol).getProperties().map(toOption);
  });
}

function toOption(property: ts.Symbol): { name: string; defaultValue: string } {
  const tag = property.getJsDocTags().find(({ name }) => name === 'default');
  return { name: property.name, defaultValue: ts.displayPartsToString(tag?.text) };
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
