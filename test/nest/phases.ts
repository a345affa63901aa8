/**
 * A program of its own: apps that don't start, or that are closed in each phase of their life. After each it says how
 * that ended and what holds the process open; after the last it ends by itself.
 */
import 'reflect-metadata';
import { Injectable, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ALL_CAPABILITIES,
  GearMonkeyClient,
  GearMonkeyModule,
  OnFinish,
  Worker,
  type JobSource,
  type RedisModuleOptions,
  type RunningJob,
  type SourceModuleOptions,
} from '../../lib/index.js';
import { until } from '../support/until.js';

const { connection, unreachable } = JSON.parse(process.argv[2] as string) as Record<
  'connection' | 'unreachable',
  string
>;
const options = { logger: false, abortOnError: false } as const;
const jobs = () => GearMonkeyModule.forRoot({ connection });

@Injectable()
class Handlers {
  @Worker('held', { concurrency: 2 })
  held(_: unknown, { signal }: RunningJob) {
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  }
  @OnFinish('held')
  finished() {}
}

@Injectable()
class Legacy {
  @Worker('old', { instance: 'legacy' })
  old() {}
}

/** Opens connections and enqueues while the app starts. */
@Injectable()
class Early {
  constructor(private readonly client: GearMonkeyClient) {}
  async onModuleInit() {
    await this.client.run('held', null);
    this.client.progress('held').subscribe();
  }
}

@Injectable()
class Broken {
  onApplicationBootstrap() {
    throw new Error('broken');
  }
}

/** Knows when workers have begun to start: in the turn after the app's own hooks. */
@Injectable()
class Starting {
  private begin = (): void => undefined;
  readonly begun = new Promise<void>((resolve) => (this.begin = resolve));
  onApplicationBootstrap() {
    setImmediate(this.begin);
  }
}

@Injectable()
class Twice {
  @Worker('held')
  again() {}
}

/** A job system that answers only once a job of the other instance runs, and refuses. */
const refusing: JobSource = {
  capabilities: ALL_CAPABILITIES,
  open: async () => {
    await until(async () => (await watcher.get('held', 1))?.state === 'running', { timeout: 20_000 });
    throw new Error('refused');
  },
  claim: () => Promise.resolve([]),
  renew: () => Promise.resolve([]),
  progress: () => Promise.resolve(true),
  settle: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};
let watcher: GearMonkeyClient;

function root(metadata: ModuleMetadata): Type {
  @Module(metadata)
  class Root {}
  return Root;
}

const context = (metadata: ModuleMetadata) => NestFactory.createApplicationContext(root(metadata), options);
const create = (metadata: ModuleMetadata) => NestFactory.create(root(metadata), options);
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: Error) => error.message,
  );

const legacy = (rest: SourceModuleOptions | RedisModuleOptions) =>
  GearMonkeyModule.forRoot({ name: 'legacy', ...rest });

const scenarios: Record<string, () => Promise<string>> = {
  'a second instance refuses': () =>
    outcome(
      context({
        imports: [jobs(), legacy({ source: refusing })],
        providers: [Handlers, Legacy, Early, Watch],
      }),
    ),
  'two handlers of one function': () =>
    outcome(context({ imports: [jobs()], providers: [Handlers, Twice, Early] })),
  'a hook fails, and the app is closed': async () => {
    const app = await create({ imports: [jobs()], providers: [Handlers, Early, Broken] });
    const started = await outcome(app.init());
    return `${started}, closed: ${await outcome(app.close())}`;
  },
  'closed before it was initialised': async () => {
    const app = await create({ imports: [jobs()], providers: [Handlers] });
    return outcome(app.close());
  },
  'closed as it begins to start': async () => {
    const app = await create({ imports: [jobs()], providers: [Handlers] });
    const starting = outcome(app.init());
    return `${await outcome(app.close())}, started: ${await starting}`;
  },
  'closed while its workers start': async () => {
    const app = await create({ imports: [jobs()], providers: [Handlers, Early, Starting] });
    const starting = outcome(app.init());
    await app.get(Starting).begun;
    return `${await outcome(app.close())}, started: ${await starting}`;
  },
  'closed while options are made': async () => {
    let make = (): void => undefined;
    const made = new Promise<void>((resolve) => (make = resolve));
    let asked = false;
    @Injectable()
    class Slow {
      @Worker('held', async () => {
        asked = true;
        await made;
        return { concurrency: 2 };
      })
      held() {}
      @OnFinish('held')
      finished() {}
    }
    const app = await create({ imports: [jobs()], providers: [Slow] });
    const starting = outcome(app.init());
    await until(() => asked);
    const closed = await outcome(app.close());
    make();
    return `${closed}, started: ${await starting}`;
  },
  'closed twice': async () => {
    const app = await context({ imports: [jobs()], providers: [Handlers, Early] });
    const both = await Promise.all([outcome(app.close()), outcome(app.close())]);
    return [...both, await outcome(app.close())].join(', ');
  },
};

const withUnreachable: typeof scenarios = {
  'a second instance is unreachable': () =>
    outcome(
      context({
        imports: [jobs(), legacy({ connection: unreachable })],
        providers: [Handlers, Legacy, Early],
      }),
    ),
  'closed while it waits for a server that is not there': async () => {
    const imports = [jobs(), legacy({ connection: unreachable })];
    const app = await create({ imports, providers: [Handlers, Legacy, Early, Starting] });
    const starting = outcome(app.init());
    await app.get(Starting).begun;
    return `${await outcome(app.close())}, started: ${await starting}`;
  },
};

/** Makes the first app's client known to `refusing`. */
@Injectable()
class Watch {
  constructor(client: GearMonkeyClient) {
    watcher = client;
  }
}

const holding = () =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => !/^(PipeWrap|TTYWrap|Immediate|FSReqPromise)$/.test(kind));

process.stdout.write(`${JSON.stringify({ event: 'ready' })}\n`);
for (const [name, run] of Object.entries({ ...scenarios, ...(unreachable ? withUnreachable : {}) })) {
  const ended = await run();
  // What has just been closed may take a moment.
  await until(() => holding().length === 0, { timeout: 5000 }).catch(() => undefined);
  process.stdout.write(`${JSON.stringify({ event: 'ended', name, ended, left: holding() })}\n`);
}
const over = performance.now();
process.on('exit', () =>
  process.stdout.write(`${JSON.stringify({ event: 'exit', lingered: performance.now() - over })}\n`),
);
