import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { APP as BULLMQ_APP, moved } from './bullmq/same-app.js';
import { blocks, textOf } from './support/documents.js';
import { ENTRY_POINTS, UserProgram } from './support/user-program.js';

/** Every name that users can import. One that comes or goes is written here by hand, on purpose. */
const NAMES = JSON.parse(readFileSync(new URL('public-names.json', import.meta.url), 'utf8')) as Record<
  string,
  string[]
>;

/** What the compiler needs to work a public type out. Users don't write these. */
const MACHINERY = [
  'Absent',
  'Accepts',
  'AcceptsBatch',
  'AnyOptions',
  'BullAsyncOptions',
  'CodecFor',
  'ConfigurableModuleClass',
  'CountedState',
  'Counts',
  'Featured',
  'FunctionSetting',
  'HasEventFirst',
  'JOB_REMEDIES',
  'JobRecords',
  'JsonDoesNotKeepThisTypeSoAddACodec',
  'ObserverDecorator',
  'OptionsFor',
  'OrUndefined',
  'QUEUE_REMEDIES',
  'QueueRules',
  'REPEAT_REMEDIES',
  'ROOT_REMEDIES',
  'Refused',
  'SourceLeases',
  'SourceMonitor',
  'TEMPLATE_REMEDIES',
  'TypeOf',
  'WORKER_REMEDIES',
];

/** Options that users set, and docs/options.md lists. */
const OPTION_TYPES = [
  'GearMonkeyModuleOptions',
  'DefinitionOptions',
  'WorkerDecoratorOptions',
  'RetryOptions',
  'LimitOptions',
  'RunOptions',
];

/** Uses what `stripInternal` could have broken: classes that are made, extended, injected. */
const APP = `
import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  CurrentJob, GearMonkeyClient, GearMonkeyError, GearMonkeyHealth, GearMonkeyModule, InjectGearMonkey, Input,
  JobFailedError, JobHandle, RunningJob, Worker, codecOf, defineJob, type Job, type JobSource,
} from 'nestjs-gearmonkey';
import { QlessClient, QlessJob, QlessModule, qless } from 'nestjs-gearmonkey/qless';
import { JqClient, JqJobHandle, JqMasterModule, JqModule, jq } from 'nestjs-gearmonkey/jq';
import { JobdClient, JobdDaemon, JobdModule, jobd } from 'nestjs-gearmonkey/jobd';

const upper = defineJob<string, string>('upper', { codec: codecOf('text') });

class ShopError extends GearMonkeyError {
  readonly code = 'SHOP';
}

@Injectable()
export class Shop {
  constructor(
    private readonly jobs: GearMonkeyClient,
    @InjectGearMonkey('other') private readonly other: GearMonkeyClient,
    private readonly health: GearMonkeyHealth,
    private readonly stored: QlessClient,
    private readonly pushed: JqClient,
    private readonly rows: JobdClient,
  ) {}
  @Worker(upper)
  upper(@Input() text: string, @CurrentJob() job: RunningJob): string {
    return text + job.id;
  }
  async buy(): Promise<string> {
    const handle: JobHandle<typeof upper> = await this.jobs.run(upper, 'a');
    const job: Job<string, string> = await handle.get();
    const popped: QlessJob[] = await this.stored.queue('q').pop();
    const pushed: JqJobHandle<string> = await this.pushed.enqueue(upper, 'a');
    const row: number = await this.rows.add('target');
    await this.other.call('plain', { any: 'input' }).catch((error: unknown) => {
      if (error instanceof JobFailedError) throw new ShopError(error.error.message);
    });
    return [job.state, popped.length, pushed.id, row, this.health.check().length].join();
  }
}

const sources: JobSource[] = [
  qless({ connection: 'redis://a', queues: ['q'] }),
  jq({ master: 'http://a' }),
  jobd({ database: 'sqlite:/a', targets: ['t'] }),
];
const imports: DynamicModule[] = [
  GearMonkeyModule.forRoot({ connection: 'memory:' }),
  GearMonkeyModule.forFeature([upper]),
  ...sources.map((source, index) => GearMonkeyModule.forRoot({ source, name: String(index) })),
  QlessModule.forRoot({ connection: 'redis://a' }),
  JqModule.forRoot({ master: 'http://a' }),
  JqMasterModule.forRoot({ connection: 'redis://a' }),
  JobdModule.forRoot({ database: 'sqlite:/a' }),
];
@Module({ imports, providers: [Shop] })
class App {}

export async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(App);
  const client: GearMonkeyClient = app.get(GearMonkeyClient);
  const daemon: JobdDaemon = app.get(JobdDaemon);
  client.endObservers();
  void daemon;
}

// What only the package may make or call.
export function refused(job: RunningJob): unknown {
  // @ts-expect-error the claim is the worker's
  void job.claim;
  // @ts-expect-error only the worker ends a job
  job.abort(new Error('no'));
  // @ts-expect-error handles are given out by clients
  void new JobHandle('upper', '1');
  // @ts-expect-error and jobs by workers
  return new RunningJob({}, {}, {}, () => undefined);
}
`;

/** Two programs that are wrong, which shows that the directives in test/types are checked. */
const WRONG = {
  'test/types/needless.ts': `import './definitions.js';
// @ts-expect-error nothing is wrong
export const one = 1;
`,
  'test/types/missing.ts': `import { resize, same } from './definitions.js';
import type { OutputOf } from 'nestjs-gearmonkey';
same<OutputOf<typeof resize>, number>();
`,
};

const TYPES = readdirSync(new URL('types', import.meta.url)).map((name) => `test/types/${name}`);

const BLOCKS = blocks.filter(({ language }) => language === 'ts');
/** The TypeScript of the documents. Each document is a folder, so that its blocks can import each other. */
const DOCUMENTED = Object.fromEntries(
  BLOCKS.map(({ path, line, file, code }) => [
    `${path}/${file ?? `line-${line}.ts`}`,
    // An error then has the line of the document.
    '\n'.repeat(line) + code,
  ]),
);

/** An app of @nestjs/bullmq, and the same with other imports. */
const BULLMQ = { 'app-of-bullmq.ts': BULLMQ_APP, 'app-that-moved.ts': moved(BULLMQ_APP) };

// Outside of all tests: if the build is too old, the suite says so once.
const program = new UserProgram(TYPES, { 'app-of-a-user.ts': APP, ...WRONG, ...BULLMQ, ...DOCUMENTED });

it('has the entry points of public-names.json', () => {
  expect([...ENTRY_POINTS.keys()].toSorted()).toEqual(Object.keys(NAMES).toSorted());
});

describe.each([...ENTRY_POINTS.keys()])('%s', (entry) => {
  it('exports exactly the names of public-names.json', () => {
    expect(program.names(entry)).toEqual(NAMES[entry]);
  });

  it('documents each of them', () => {
    expect(program.undocumented(entry)).toEqual([]);
  });
});

describe('the declarations of the package', () => {
  it('export each name from one entry point', () => {
    // Those of bullmq are the names of another package.
    const { 'nestjs-gearmonkey/bullmq': _, ...own } = NAMES;
    const all = Object.values(own).flat();
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  it('contain nothing internal', () => {
    expect(program.withInternals()).toEqual([]);
  });

  it('mention only types that users can import', () => {
    expect(program.unexported()).toEqual(MACHINERY);
  });

  it('are complete for a strict program without skipLibCheck', () => {
    expect(program.declarations().length).toBeGreaterThan(100);
    expect(program.errors(program.declarations())).toEqual([]);
  });

  it('are enough for the app of a user', () => {
    expect(program.errors(['app-of-a-user.ts'])).toEqual([]);
  });
});

describe('an app of @nestjs/bullmq', () => {
  it('compiles, and compiles with the imports of nestjs-gearmonkey/bullmq', () => {
    expect(program.errors(Object.keys(BULLMQ))).toEqual([]);
  });
});

describe('the types of a definition', () => {
  it('apply from client to handler', () => {
    expect(TYPES).toEqual(expect.arrayContaining(['test/types/client.ts', 'test/types/handlers.ts']));
    expect(program.errors(TYPES)).toEqual([]);
  });

  it('are really checked: a needless or missing @ts-expect-error is an error', () => {
    expect(program.errors(Object.keys(WRONG))).toEqual([
      "test/types/needless.ts:2 Unused '@ts-expect-error' directive.",
      'test/types/missing.ts:3 Expected 1 arguments, but got 0.',
    ]);
  });
});

describe('the documents', () => {
  it('have TypeScript that compiles with the strictness of the package', () => {
    // No two blocks of a document have the same name.
    expect(Object.keys(DOCUMENTED)).toHaveLength(BLOCKS.length);
    expect(program.errors(Object.keys(DOCUMENTED))).toEqual([]);
  });

  it('name every option, with its default', () => {
    const rows = textOf('docs/options.md').replaceAll('`', '').split('\n');
    const options = OPTION_TYPES.flatMap((type) => program.options(type));
    const undocumented = options.filter(
      ({ name, defaultValue }) =>
        !rows.some((row) => row.startsWith(`| ${name} `) && row.includes(defaultValue.replaceAll('`', ''))),
    );
    expect(undocumented).toEqual([]);
  });
});
