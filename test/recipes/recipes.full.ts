import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Project } from '../environments/project.js';
import { pack, STRICT_APP, temporaryFolder } from '../support/consumer.js';
import { blocks } from '../support/documents.js';
import { PostgresServer } from '../support/postgres-server.js';
import { freePort } from '../support/free-port.js';
import { killProcesses, runProgram, TestProcess } from '../support/test-process.js';
import { useRedis } from '../support/use-redis.js';
import { RecipeFolder, recipes } from './programs.js';

const own = recipes.filter(({ packages }) => packages.length === 0);
const foreign = recipes.filter(({ packages }) => packages.length > 0);
const INSTALL_MS = 300_000;

/** Writes and reads a file of several megabytes, in parts. */
const IN_S3 = `
import { S3Client } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Bucket } from './s3.js';

const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const s3 = new S3Client({
  endpoint: process.argv[2] ?? '',
  region: 'eu-central-1',
  forcePathStyle: true,
  credentials,
  // The server is older than the checksums that the client adds by default.
  requestChecksumCalculation: 'WHEN_REQUIRED',
});
const files = new Bucket(s3, 'files');
const content = 'a line of text\\n'.repeat(800_000);
const { signal } = new AbortController();
await files.write('large.txt', Readable.from(content.match(/[^]{1,65536}/g) ?? []), signal);
console.log((await text(await files.read('large.txt'))) === content);
const aborted = new AbortController();
const endless = Readable.from((async function* () { for (;;) { yield 'x'.repeat(1_000_000); aborted.abort(); } })());
await files.write('part.txt', endless, aborted.signal).catch((error: Error) => console.log(error.name));
await files.read('part.txt').catch((error: Error) => console.log(error.name));
`;

/** Orders in PostgreSQL, with two relays at the same time. */
const WITH_PRISMA = `
import 'reflect-metadata';
import { PrismaPg } from '@prisma/adapter-pg';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import pg from 'pg';
import { PrismaClient } from './generated/client.js';
import { move, order, receipt } from './outbox.js';

@Module({ imports: [GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] ?? 'memory:' })] })
class AppModule {}

const connectionString = process.env['DATABASE_URL'] ?? '';
const pool = new pg.Pool({ connectionString });
await pool.query('CREATE TABLE orders (id serial PRIMARY KEY, item text NOT NULL)');
await pool.query('CREATE TABLE outbox (id bigserial PRIMARY KEY, input jsonb NOT NULL)');
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const jobs = app.get(GearMonkeyClient);
await order(prisma, 'tea');
await order(prisma, 'nothing').catch(() => console.log('rolled back'));
console.log(await Promise.all([move(prisma, jobs), move(prisma, jobs)]).then((moved) => moved.sort()));
console.log(await prisma.order.count(), await prisma.outbox.count());
console.log((await jobs.run(receipt, { order: 1, message: 1 })).created);
await app.close();
await prisma.$disconnect();
await pool.query('DROP TABLE orders, outbox');
await pool.end();
`;

describe('a recipe on Redis', () => {
  const redis = useRedis();
  let folder: RecipeFolder;
  beforeAll(async () => {
    folder = await RecipeFolder.make();
  });
  afterAll(() => folder.remove());

  it.each(own.map((recipe) => [recipe.name, recipe] as const))(
    'prints what its page says: %s',
    async (_, recipe) => {
      const env = { ...process.env, NODE_OPTIONS: '', REDIS_URL: redis.url };
      const { stdout } = await runProgram(process.execPath, [await folder.write(recipe)], { env });
      expect(stdout).toBe(recipe.prints);
    },
  );
});

describe('a recipe with packages of its own', () => {
  const redis = useRedis();
  let folder: string;
  let project: Project;
  let database: PostgresServer;

  beforeAll(async () => {
    folder = await temporaryFolder();
    const compilerOptions = { ...STRICT_APP, skipLibCheck: true, rootDir: 'src', outDir: 'dist' };
    project = await Project.make(join(folder, 'app'), {
      packages: [
        await pack(folder),
        ...['@nestjs/common@12', '@nestjs/core@12', 'reflect-metadata', 'rxjs'],
        ...foreign.flatMap(({ packages }) => packages),
        ...['@aws-sdk/client-s3@3', '@aws-sdk/lib-storage@3', 's3rver@3'],
        ...['@prisma/client@7', '@prisma/adapter-pg@7', 'prisma@7'],
      ],
      devPackages: ['typescript@6', '@types/node@22'],
      files: {
        'tsconfig.json': JSON.stringify({ compilerOptions, include: ['src'] }),
        'src/s3.ts': codeOf('files', 'typescript', 's3.ts'),
        'src/in-s3.ts': IN_S3,
        'prisma/schema.prisma': codeOf('transactions', 'prisma'),
        'src/outbox.ts': codeOf('transactions', 'typescript', 'outbox.ts'),
        'src/with-prisma.ts': WITH_PRISMA,
        ...Object.fromEntries(foreign.map(({ name, code }) => [`src/${name}.ts`, code])),
      },
    });
    // Only migrations need the engine, which would be downloaded.
    await project.run('env', 'PRISMA_SCHEMA_ENGINE_BINARY=/bin/true', 'prisma', 'generate');
    database = await PostgresServer.start();
  }, INSTALL_MS);
  afterEach(killProcesses);
  afterAll(async () => {
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('compiles strictly, and so does the storage of S3', async () => {
    await expect(project.run('tsc')).resolves.toMatchObject({ code: 0 });
  });

  it('saves orders and enqueues their jobs with Prisma', async () => {
    const env = { ...process.env, NODE_OPTIONS: '', REDIS_URL: redis.url, DATABASE_URL: database.url };
    const { stdout } = await runProgram(process.execPath, [project.path('dist/with-prisma.js')], { env });
    expect(stdout).toBe('rolled back\n[ 0, 1 ]\n1 0\nfalse\n');
  });

  it('keeps files in S3: all of one, or nothing', async () => {
    const port = await freePort();
    const args = ['--directory', join(folder, 's3'), '--port', `${port}`, '--configure-bucket', 'files'];
    const server = new TestProcess(process.execPath, [
      project.path('node_modules/s3rver/bin/s3rver.js'),
      ...args,
    ]);
    await server.shows(() => /listening/.exec(server.stdout), 'that it listens');
    const url = `http://127.0.0.1:${port}`;
    const { stdout } = await runProgram(process.execPath, [project.path('dist/in-s3.js'), url]);
    expect(stdout).toBe('true\nAbortError\nNoSuchKey\n');
    await server.kill();
  });

  it.each(foreign.map((recipe) => [recipe.name, recipe] as const))(
    'prints what its page says: %s',
    async (_, { name, prints }) => {
      const env = { ...process.env, NODE_OPTIONS: '', REDIS_URL: redis.url, DATABASE_URL: database.url };
      const { stdout } = await runProgram(process.execPath, [project.path(`dist/${name}.js`)], { env });
      expect(stdout).toBe(prints);
    },
  );
});

/** The block of a recipe's page. @throws if there is none */
function codeOf(page: string, language: string, file?: string): string {
  const found = blocks.find(
    (block) => block.path === `docs/recipes/${page}.md` && block.language === language && block.file === file,
  );
  if (!found) throw new Error(`docs/recipes/${page}.md has no block ${file ?? language}.`);
  return found.code;
}
