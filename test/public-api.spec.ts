import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Declarations, ENTRY_POINTS, type EntryPoint } from './support/declarations.js';

/** Every name that users can import. One that comes or goes is written here by hand, on purpose. */
const NAMES = JSON.parse(readFileSync(new URL('public-names.json', import.meta.url), 'utf8')) as Record<
  EntryPoint,
  string[]
>;

/** What the compiler needs to work a public type out. Users don't write these. */
const MACHINERY = [
  'Absent',
  'Accepts',
  'AcceptsBatch',
  'AnyOptions',
  'CodecFor',
  'ConfigurableModuleClass',
  'ObserverDecorator',
  'OptionsFor',
  'OrUndefined',
  'TypeOf',
];

/** A strict program of a user, with what `stripInternal` could have broken: classes that are made, extended, injected. */
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
    return [job.status, popped.length, pushed.id, row, this.health.check().length].join();
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
  return [new JobHandle('upper', '1'), new RunningJob({}, {}, {}, () => undefined)];
}
`;

let built: Declarations;
beforeAll(() => {
  built = Declarations.build({ 'app-of-a-user.ts': APP });
}, 240_000);

describe.each(Object.keys(ENTRY_POINTS) as EntryPoint[])('%s', (entry) => {
  it('exports exactly the names of public-names.json', () => {
    expect(built.names(entry)).toEqual(NAMES[entry]);
  });

  it('documents each of them', () => {
    expect(built.undocumented(entry)).toEqual([]);
  });
});

describe('the declarations of the package', () => {
  it('export each name from one entry point', () => {
    const all = Object.values(NAMES).flat();
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  it('contain nothing internal', () => {
    expect(built.withInternals()).toEqual([]);
  });

  it('mention only types that users can import', () => {
    expect(built.unexported()).toEqual(MACHINERY);
  });

  it('are complete for a strict program without skipLibCheck', () => {
    expect(built.errors()).toEqual([]);
  });
});
