import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { BundledProject } from '../bundlers/bundled-project.js';
import { outlivesKills, type RunApp } from '../bundlers/outlives-kills.js';
import { pack, STRICT_APP, temporaryFolder } from '../support/consumer.js';
import { runProgram } from '../support/test-process.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { stopProgramsAfterEach } from '../support/worker-process.js';
import { ENQUEUE_AND_EXIT, EVERY_ENTRY_POINT, OBSERVED, SPEC, TYPES_ONLY } from './programs.js';
import { Project, type ProjectOptions } from './project.js';

const APP = fileURLToPath(new URL('../bundlers/app.ts', import.meta.url));
const NODES = ['20', '22', '24', '26'];
const TYPESCRIPT = ['typescript@6', '@types/node@20'];
/** Compilers and types of Node with which all types compile: the oldest that are supported, to the newest that there are. */
const COMPILERS = ['5.9', '6', '7', 'latest'];
const NODE_TYPES = [...NODES, 'latest'];
const STRICT = [
  '--exactOptionalPropertyTypes',
  '--noUncheckedIndexedAccess',
  '--noPropertyAccessFromIndexSignature',
];
/** The optional packages whose types the entry points use. */
const OPTIONAL_PACKAGES = ['@nestjs/terminus@12', '@opentelemetry/api@1', 'kysely@0.28', 'prom-client@15'];
const TIMEOUT_MS = 900_000;

const BUILDERS = {
  tsc: [],
  swc: ['@swc/cli', '@swc/core'],
  webpack: [
    'webpack',
    'ts-loader',
    'webpack-node-externals',
    'tsconfig-paths-webpack-plugin',
    'fork-ts-checker-webpack-plugin',
  ],
  rspack: ['@rspack/core', 'webpack-node-externals', 'tsconfig-paths-webpack-plugin'],
};

describe('an app', () => {
  const redis = useRedis();
  const apps = useApps();
  stopProgramsAfterEach();
  const nodes = new Map<string, string>();
  let folder: string;
  let tarball: string;
  let app: string;
  let projects = 0;

  beforeAll(async () => {
    folder = await temporaryFolder();
    tarball = await pack(folder);
    app = await readFile(APP, 'utf8');
    for (const version of NODES) {
      const { path } = await make({ packages: [`node@${version}`], files: {} });
      nodes.set(version, path('node_modules/node/bin/node'));
    }
  }, TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe('on Node 20, 22, 24 and 26', () => {
    it('of Nest 12 runs as a module', async () => {
      const project = await make({
        packages: [tarball, ...nest(12)],
        devPackages: TYPESCRIPT,
        files: { 'src/main.ts': app, 'tsconfig.json': tsconfig() },
      });
      await project.run('tsc');
      await livesOnEachNode({ file: project.path('dist/main.js'), cwd: '/' });
    });

    it('of Nest 11 runs as CommonJS', async () => {
      const project = await make({
        packages: [tarball, ...nest(11)],
        devPackages: TYPESCRIPT,
        files: { 'src/main.ts': app, 'tsconfig.json': tsconfig() },
        type: 'commonjs',
      });
      await project.run('tsc');
      await livesOnEachNode({ file: project.path('dist/main.js'), cwd: '/' });
    });

    it.each([
      ['esbuild', 'app.mjs'],
      ['webpack', 'app.cjs'],
    ])('runs in the one file that %s made', async (bundler, main) => {
      const project = await BundledProject.make();
      const made = await project.bundle(bundler);
      await project.removeSources();
      await livesOnEachNode({ file: join(made, main), cwd: made });
      await project.remove();
    });
  });

  it.each([
    ['bun@1', 'node_modules/.bin/bun', []],
    ['deno@2', 'node_modules/.bin/deno', ['run', '--allow-all']],
  ])('of Nest 12 runs on %s', async (runtime, program, nodeOptions) => {
    const project = await make({
      packages: [tarball, ...nest(12), runtime],
      devPackages: TYPESCRIPT,
      files: {
        // Deno refuses some of the signals that Nest asks for by itself.
        'src/main.ts': app.replace('enableShutdownHooks()', "enableShutdownHooks(['SIGTERM'])"),
        'tsconfig.json': tsconfig(),
      },
    });
    await project.run('tsc');
    const node = project.path(program);
    await lives({ file: project.path('dist/main.js'), cwd: project.path('.'), node, nodeOptions });
  });

  describe('that the CLI of Nest built', () => {
    it.each([
      [11, 'tsc', 'commonjs'],
      [11, 'swc', 'commonjs'],
      [11, 'webpack', 'commonjs'],
      [12, 'tsc', 'module'],
      [12, 'swc', 'module'],
      [12, 'webpack', 'commonjs'],
      [12, 'rspack', 'module'],
    ] as const)('in version %s with %s runs as %s', async (version, builder, type) => {
      const project = await make({
        packages: [tarball, ...nest(version)],
        devPackages: [
          ...TYPESCRIPT,
          `@nestjs/cli@${version}`,
          `@nestjs/schematics@${version}`,
          ...BUILDERS[builder],
        ],
        files: {
          'src/main.ts': app,
          'tsconfig.json': tsconfig(),
          'nest-cli.json': '{ "sourceRoot": "src" }',
        },
        type,
      });
      await project.run('nest', 'build', '--builder', builder);
      // Where swc writes depends on the version of its CLI.
      const [file = ''] = ['dist/main.js', 'dist/src/main.js']
        .map(project.path)
        .filter((path) => existsSync(path));
      await lives({ file, cwd: '/' });
    });
  });

  it('of Nest 11 runs in the one file that `nest build --webpack` made', async () => {
    const project = await make({
      packages: [tarball, ...nest(11)],
      devPackages: [...TYPESCRIPT, '@nestjs/cli@11', '@nestjs/schematics@11', ...BUILDERS.webpack],
      files: {
        'src/main.ts': app,
        'tsconfig.json': tsconfig(),
        'nest-cli.json': '{ "sourceRoot": "src" }',
        'webpack.config.js': await nestConfig(),
      },
      type: 'commonjs',
    });
    await project.run('nest', 'build', '--webpack');
    await rm(project.path('node_modules'), { recursive: true });
    await lives({ file: project.path('dist/main.js'), cwd: '/' });
  });

  it('runs where npm has installed what production needs', async () => {
    const project = await make({
      packages: [tarball, ...nest(12)],
      devPackages: TYPESCRIPT,
      files: { 'src/main.ts': app, 'tsconfig.json': tsconfig() },
    });
    await project.run('tsc');
    await project.run('npm', 'ci', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline');
    await lives({ file: project.path('dist/main.js'), cwd: '/' });
  });

  it.each([
    [11, 'commonjs'],
    [12, 'module'],
  ] as const)(
    'of Nest %i has health, metrics and traces with the packages of its time',
    async (version, type) => {
      const project = await make({
        packages: [
          ...[
            tarball,
            ...nest(version),
            `@nestjs/terminus@${version}`,
            `@nestjs/platform-express@${version}`,
          ],
          ...['prom-client@15', '@opentelemetry/api@1'],
        ],
        devPackages: TYPESCRIPT,
        files: { 'src/main.ts': OBSERVED, 'tsconfig.json': tsconfig() },
        type,
      });
      await project.run('tsc');
      const { stdout } = await project.run(process.execPath, project.path('dist/main.js'), redis.url);
      expect(JSON.parse(stdout)).toEqual({
        health: { status: 'ok', jobs: 'up' },
        metrics: 'gearmonkey_jobs_finished_total{system="gearmonkey",fn="greet",outcome="succeeded"} 1',
      });
    },
  );

  it("runs with pnpm's strict node_modules", async () => {
    const project = await make({
      packages: [tarball, ...nest(12)],
      devPackages: TYPESCRIPT,
      files: { 'src/main.ts': app, 'tsconfig.json': tsconfig() },
      install: 'pnpm',
    });
    await project.run('tsc');
    await lives({ file: project.path('dist/main.js'), cwd: '/' });
  });

  it('runs by tsx, without metadata of types', async () => {
    const project = await make({
      packages: [tarball, ...nest(12)],
      devPackages: ['tsx'],
      files: { 'src/main.mts': app, 'tsconfig.json': tsconfig() },
    });
    await lives({
      file: project.path('src/main.mts'),
      cwd: project.path('.'),
      nodeOptions: ['--import', 'tsx'],
    });
  });

  it('is tested by vitest, without metadata of types', async () => {
    const project = await make({
      packages: [tarball, ...nest(12), '@nestjs/testing@12'],
      devPackages: ['vitest'],
      files: {
        'src/greeter.spec.ts': `import { expect, it } from 'vitest';\n${SPEC}`,
        'tsconfig.json': tsconfig({ emitDecoratorMetadata: false }),
      },
    });
    const { stdout } = await project.run('vitest', 'run');
    expect(stdout).toMatch(/1 passed/);
  });

  it("is tested by Jest as Nest 11's template has it, and one line", async () => {
    const project = await make({
      packages: [tarball, ...nest(11), '@nestjs/testing@11'],
      devPackages: [...TYPESCRIPT, 'jest@30', 'ts-jest@29', '@types/jest@30'],
      files: {
        'src/greeter.spec.ts': SPEC,
        'tsconfig.json': tsconfig({ types: ['node', 'jest'], allowJs: true }),
        'jest.config.json': JSON.stringify({
          moduleFileExtensions: ['js', 'json', 'ts'],
          rootDir: 'src',
          testRegex: '.*\\.spec\\.ts$',
          transform: { '^.+\\.(t|j)s$': 'ts-jest' },
          transformIgnorePatterns: ['/node_modules/(?!nestjs-gearmonkey/)'],
          testEnvironment: 'node',
        }),
      },
      type: 'commonjs',
    });
    const { stderr } = await project.run('jest');
    expect(stderr).toMatch(/1 passed/);
  });

  it('compiles with every way to find modules', async () => {
    const project = await make({
      packages: [tarball, ...nest(12), 'kysely@0.28', 'undici@7'],
      devPackages: TYPESCRIPT,
      files: { 'src/main.ts': app, 'src/types-only.ts': TYPES_ONLY, 'tsconfig.json': tsconfig() },
    });
    for (const way of [
      ['--module', 'node16'],
      ['--module', 'nodenext'],
      ['--module', 'preserve', '--moduleResolution', 'bundler'],
      ['--module', 'esnext', '--moduleResolution', 'bundler', '--verbatimModuleSyntax'],
    ])
      await project.run('tsc', ...way, ...STRICT);
    expect(await readFile(project.path('dist/types-only.js'), 'utf8')).not.toContain('nestjs-gearmonkey');
  });

  it('compiles with every supported TypeScript and types of Node', async () => {
    const project = await make({
      packages: [tarball, ...nest(12), 'undici@7', ...OPTIONAL_PACKAGES],
      files: { 'src/main.ts': EVERY_ENTRY_POINT, 'tsconfig.json': tsconfig() },
    });
    for (const compiler of COMPILERS)
      for (const types of NODE_TYPES) {
        await project.add(`typescript@${compiler}`, `@types/node@${types}`);
        await project.run('tsc', ...STRICT);
      }
  });

  it('that only enqueues ends by itself once it is closed', async () => {
    const project = await make({
      packages: [tarball, ...nest(12)],
      devPackages: TYPESCRIPT,
      files: { 'src/main.ts': ENQUEUE_AND_EXIT, 'tsconfig.json': tsconfig() },
    });
    await project.run('tsc');
    const { stdout } = await project.run(process.execPath, project.path('dist/main.js'), redis.url);
    expect(stdout).toBe('enqueued 1\n');
  });

  function make(options: ProjectOptions): Promise<Project> {
    return Project.make(join(folder, `project-${++projects}`), options);
  }

  async function lives(run: RunApp): Promise<void> {
    const client = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: redis.url })] });
    await outlivesKills(run, client.get(GearMonkeyClient), redis);
  }

  async function livesOnEachNode(run: RunApp): Promise<void> {
    for (const [version, node] of nodes) {
      const { stdout } = await runProgram(node, ['--version']);
      expect(stdout).toMatch(new RegExp(`^v${version}\\.`));
      await lives({ ...run, node });
    }
  }
});

function nest(version: 11 | 12): string[] {
  return [`@nestjs/common@${version}`, `@nestjs/core@${version}`, 'reflect-metadata', 'rxjs'];
}

function tsconfig(options: object = {}): string {
  const compilerOptions = { ...STRICT_APP, rootDir: 'src', outDir: 'dist', ...options };
  return JSON.stringify({ compilerOptions, include: ['src'] });
}

/** The second configuration under "webpack" in the document. */
async function nestConfig(): Promise<string> {
  const text = await readFile(new URL('../../docs/operate/bundlers.md', import.meta.url), 'utf8');
  const { 1: code } = /^```js\n(module\.exports.*?)^```$/ms.exec(text) ?? [];
  if (code === undefined) throw new Error('The document has no configuration for `nest build --webpack`.');
  return code;
}
