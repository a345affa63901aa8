import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LUA } from '../lib/gearmonkey/core/wire/lua.embedded.js';
import { builtScripts } from '../lib/qless/wire/assemble.js';
import { wholeScripts } from '../lib/redis/script.js';
import { consumer, pack, packedFiles, run, temporaryFolder } from './support/consumer.js';
import { LIST_LOADED, tooMuchOf } from './support/loaded-files.js';
import { useRedis } from './support/use-redis.js';

/**
 * The same program as a module and as CommonJS: an app that ends by itself, with a typed handler whose
 * parameters, guard and request scope lean on Nest, and a global guard that does not hold for it.
 */
const PROGRAM = `
import 'reflect-metadata';
import { Inject, Injectable, Module, Scope, UseGuards, UsePipes, type CanActivate, type PipeTransform, type Type } from '@nestjs/common';
import { APP_GUARD, NestFactory, REQUEST } from '@nestjs/core';
import { CurrentJob, GearMonkeyClient, GearMonkeyModule, Input, OnFinish, Worker, defineJob, type RunningJob } from 'nestjs-gearmonkey';
import { QlessClient, qless } from 'nestjs-gearmonkey/qless';

const upper = defineJob<{ text: string }, string>('upper');
const scoped = defineJob<null, string>('scoped');
const order: string[] = [];

class Upper implements PipeTransform<string, string> {
  transform(text: string): string {
    return text.toUpperCase();
  }
}

class Open implements CanActivate {
  canActivate(): boolean {
    order.push('guarded');
    return true;
  }
}

class Closed implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Injectable()
class Handlers {
  constructor(private readonly jobs: GearMonkeyClient) {}
  async onApplicationBootstrap(): Promise<void> {
    await this.jobs.run(upper, { text: 'early' });
    order.push('bootstrapped');
  }
  @Worker(upper, { concurrency: 2 })
  @UseGuards(Open)
  async upper(@CurrentJob() job: RunningJob, @Input('text', Upper) text: string): Promise<string> {
    const stored = await this.jobs.get(upper, job.id);
    return text + ' ' + stored?.state;
  }
  @OnFinish(upper)
  finished(): void {}
}

@Injectable({ scope: Scope.REQUEST })
class Scoped {
  constructor(@Inject(REQUEST) private readonly job: RunningJob) {}
  @Worker(scoped)
  run(): string {
    return 'job ' + this.job.id;
  }
}

/** Classes of one name: Nest 11 remembers a method's parameters by the names of class and method. */
function twin(side: string): Type {
  @Injectable()
  class Twin {
    @Worker(side)
    run(@Input(side) value: number): number {
      return value;
    }
  }
  return Twin;
}

@Injectable()
class Piped {
  @Worker('piped')
  @UsePipes(Upper)
  piped(text: string, job: RunningJob): string {
    return text + ' ' + job.fn;
  }
}

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })],
  providers: [Handlers, Scoped, twin('left'), twin('right'), Piped, { provide: APP_GUARD, useClass: Closed }],
})
class App {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const client = app.get(GearMonkeyClient);
  const outputs: string[] = [await client.call(upper, { text: 'ran' }), await client.call(scoped, null)];
  for (const side of ['left', 'right']) outputs.push(String(await client.call(side, { left: 1, right: 2 })));
  outputs.push(String(await client.call('piped', 'in')));
  await app.close();
  // Nothing connects until it is used.
  new QlessClient({ connection: 'redis://127.0.0.1:1' }).close();
  await qless({ connection: 'redis://127.0.0.1:1', queues: ['mail'] }).close();
  console.log([...outputs, ...order].join(', '));
}
void main();
`;
const PRINTED = 'RAN running, job 1, 1, 2, IN piped, bootstrapped, guarded, guarded\n';

/** A master, a worker that it pushes to, one that pulls, and a pusher, each in an app of its own. */
const JQ_PROGRAM = `
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule, Worker, defineJob } from 'nestjs-gearmonkey';
import { EmbeddedJqMaster, JqClient, JqMasterModule, JqModule, jq, type JqJob } from 'nestjs-gearmonkey/jq';

const upper = defineJob<{ text: string }, string>('upper');
const options = { logger: false, abortOnError: false } as const;

@Injectable()
class Handlers {
  @Worker(upper)
  upper({ text }: { text: string }): string {
    return text.toUpperCase();
  }
}

@Module({ imports: [JqMasterModule.forRoot({ connection: process.argv[2] ?? '', port: 0 })] })
class Master {}

async function work(master: string, listen?: { port: number }): Promise<void> {
  const source = jq({ master, ...(listen ? { listen } : {}) });
  @Module({ imports: [GearMonkeyModule.forRoot({ source }), JqModule.forRoot({ master })], providers: [Handlers] })
  class App {}
  const app = await NestFactory.createApplicationContext(App, options);
  const client = app.get(JqClient);
  const { id } = await client.enqueue(upper, { text: listen ? 'pushed' : 'pulled' }, { keepResult: true });
  const job: JqJob<string> | null = await client.poll(id, { timeout: '30s' }, upper);
  console.log(job?.status, job?.result);
  await app.close();
}

async function main(): Promise<void> {
  const master = await NestFactory.createApplicationContext(Master, options);
  const url = master.get(EmbeddedJqMaster).url ?? '';
  await work(url, { port: 0 });
  await work(url);
  await master.close();
}
void main();
`;

describe('the package', () => {
  const redis = useRedis();
  let folder: string;
  let tarball: string;

  beforeAll(async () => {
    folder = await temporaryFolder();
    tarball = await pack(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('contains only built files and documents', async () => {
    const files = await packedFiles(tarball);
    expect([...new Set(files.map((path) => path.split('/')[0]))].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'docs',
      'package.json',
    ]);
    expect(files).toEqual(
      expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'docs/understand/protocol.md']),
    );
    // What workers in other languages load; all other scripts are in the JavaScript.
    const whole = [...wholeScripts(LUA).keys()].map((name) => `dist/gearmonkey/scripts/${name}.lua`);
    // Maps would name sources that are not there.
    expect(files.filter((path) => path.endsWith('.map'))).toEqual([]);
    const built = [...builtScripts().keys()].map((path) => `dist/qless/${path}`);
    expect(files.filter((path) => path.endsWith('.lua')).sort()).toEqual([...whole, ...built].sort());
  });

  it.each(['12', '11'])(
    'compiles strictly and runs a handler with Nest %s, by import and by require',
    async (nest) => {
      const project = await consumer(
        join(folder, `nest-${nest}`),
        [
          tarball,
          `@nestjs/common@${nest}`,
          `@nestjs/core@${nest}`,
          `@nestjs/platform-express@${nest}`,
          'undici@7',
          'reflect-metadata',
          'rxjs',
          'typescript@6',
          '@types/node@20',
        ],
        {
          'by-import.mts': PROGRAM,
          'by-require.cts': PROGRAM,
          'loaded.mjs': LIST_LOADED,
          'jq.mts': JQ_PROGRAM,
        },
      );
      await expect(run(project, process.execPath, 'out/by-import.mjs')).resolves.toBe(PRINTED);
      await expect(run(project, process.execPath, 'out/by-require.cjs')).resolves.toBe(PRINTED);
      const jobs = await run(project, process.execPath, 'out/jq.mjs', redis.url);
      expect(jobs).toBe('done PUSHED\ndone PULLED\n');
      await expect(run(project, 'node_modules/.bin/gearmonkey', '--help')).resolves.toContain(
        'Usage: gearmonkey',
      );
      const installed = await readdir(join(project, 'node_modules'));
      expect(installed).not.toContain('zod');

      const loaded = (await run(project, process.execPath, 'loaded.mjs')).split('\n');
      expect(tooMuchOf(loaded)).toEqual([]);
    },
  );
});
