import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Inject,
  Injectable,
  Logger,
  Scope,
  type LoggerService,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ContextIdFactory, REQUEST, type ContextId } from '@nestjs/core';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  OnCreate,
  OnFinish,
  OnProgress,
  OnStart,
  Worker,
  defineJob,
  type JobEvent,
  type JobProgress,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { ObserverOrchestrator } from '../../lib/nest/observer.orchestrator.js';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const used = useRedis();
const connections = [
  ['memory', (name: string) => `memory:observed-${name}`, async () => undefined],
  ['Redis', () => used.url, heard],
] as const;

/** Redis has acknowledged the subscriptions of that many apps: they are not waited for at bootstrap. */
async function heard(fn: string, apps = 1): Promise<void> {
  await eventually(async () =>
    expect(Number((await used.redis.pubsub('NUMSUB', `channel:${fn}`))[1])).toBe(apps),
  );
}

/** What a class with one observer of each kind was told, in order. */
function observersOf(fn: string) {
  const seen: string[] = [];
  class Observers {
    @OnCreate(fn)
    created({ type, id }: JobEvent) {
      seen.push(`${type} ${id}`);
    }
    @OnStart(fn)
    started({ type, id }: JobEvent) {
      seen.push(`${type} ${id}`);
    }
    @OnProgress(fn)
    progressed({ id, dividend, divisor }: JobProgress) {
      seen.push(`progress ${id} ${dividend}/${divisor}`);
    }
    @OnFinish(fn)
    finished({ type, id, fn: name }: JobEvent) {
      seen.push(`${type} ${id} ${name}`);
    }
  }
  return { Observers, seen, expected: ['create 1', 'start 1', 'progress 1 1/2', `finish 1 ${fn}`] };
}

function workerOf(fn: string) {
  @Injectable()
  class Handlers {
    @Worker(fn)
    async run(_: unknown, job: RunningJob) {
      await job.update(1, 2);
    }
  }
  return Handlers;
}

describe.each(connections)('observers on %s', (_, connectionOf, listening) => {
  const apps = useApps();
  const gearmonkey = (fn: string) => GearMonkeyModule.forRoot({ connection: connectionOf(fn) });

  it('are called for creation, start, progress and finish, in that order', async () => {
    const fn = used.fn();
    const { Observers, seen, expected } = observersOf(fn);
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Observers, workerOf(fn)] });
    await listening(fn);
    await app.get(GearMonkeyClient).call(fn, null);
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual(expected);
  });

  it('may be methods of controllers', async () => {
    const fn = used.fn();
    const { Observers, seen, expected } = observersOf(fn);
    Controller()(Observers);
    const app = await apps.start({
      imports: [gearmonkey(fn)],
      controllers: [Observers],
      providers: [workerOf(fn)],
    });
    await listening(fn);
    await app.get(GearMonkeyClient).call(fn, null);
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual(expected);
  });

  it('are called for jobs that other apps create and run', async () => {
    const fn = used.fn();
    const { Observers, seen, expected } = observersOf(fn);
    await apps.start({ imports: [gearmonkey(fn)], providers: [Observers] });
    await apps.start({ imports: [gearmonkey(fn)], providers: [workerOf(fn)] });
    const client = (await apps.start({ imports: [gearmonkey(fn)] })).get(GearMonkeyClient);
    await listening(fn);
    await client.call(fn, null);
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual(expected);
  });

  it('are called once in every app that has them', async () => {
    const fn = used.fn();
    const observers = [observersOf(fn), observersOf(fn)] as const;
    const [first] = await Promise.all(
      observers.map(({ Observers }) => apps.start({ imports: [gearmonkey(fn)], providers: [Observers] })),
    );
    await apps.start({ imports: [gearmonkey(fn)], providers: [workerOf(fn)] });
    await listening(fn, 2);
    await first?.get(GearMonkeyClient).call(fn, null);
    for (const { seen, expected } of observers) {
      await eventually(() => expect(seen.length).toBeGreaterThanOrEqual(4));
      expect(seen).toEqual(expected);
    }
  });

  it('that throw are logged with class and method, and do not affect others or the next message', async () => {
    const fn = used.fn();
    const seen: string[] = [];
    @Injectable()
    class Throwing {
      @OnCreate(fn)
      throwing() {
        throw new Error('observer broke');
      }
      @OnCreate(fn)
      async rejecting() {
        throw new Error('observer rejected');
      }
    }
    @Injectable()
    class Steady {
      @OnCreate(fn)
      created({ id }: JobEvent) {
        seen.push(id);
      }
    }
    const errors: unknown[] = [];
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Throwing, Steady] });
    const logger = { error: (message: unknown) => errors.push(String(message)), log() {}, warn() {} };
    Logger.overrideLogger(logger as LoggerService);
    await listening(fn);
    await app.get(GearMonkeyClient).runMany(fn, [1, 2]);
    await eventually(() => expect(errors).toHaveLength(4));
    Logger.overrideLogger(false);
    expect(seen).toEqual(['1', '2']);
    expect(new Set(errors)).toEqual(
      new Set([
        'Throwing.throwing failed: Error: observer broke',
        'Throwing.rejecting failed: Error: observer rejected',
      ]),
    );
  });

  it('of a definition observe its function; one method may observe several kinds', async () => {
    const fn = used.fn();
    const job = defineJob<number, number>(fn);
    const seen: string[] = [];
    @Injectable()
    class Observers {
      @OnCreate(job)
      @OnFinish(job)
      ends({ type }: JobEvent) {
        seen.push(type);
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Observers, workerOf(fn)] });
    await listening(fn);
    await app.get(GearMonkeyClient).call(job, 1);
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen).toEqual(['create', 'finish']);
  });

  it('of a named instance observe only its jobs', async () => {
    const fn = used.fn();
    const seen: string[] = [];
    @Injectable()
    class Observers {
      @OnCreate(fn)
      here() {
        seen.push('default');
      }
      @OnCreate(fn, { instance: 'legacy' })
      there() {
        seen.push('legacy');
      }
    }
    const app = await apps.start({
      imports: [gearmonkey(fn), GearMonkeyModule.forRoot({ connection: 'memory:', name: 'legacy' })],
      providers: [Observers],
    });
    await listening(fn);
    await app.get(GearMonkeyClient).run(fn, null);
    await eventually(() => expect(seen.length).toBeGreaterThan(0));
    expect(seen).toEqual(['default']);
  });

  it('that have begun may end before other providers are destroyed, for as long as handlers may', async () => {
    const fn = used.fn();
    const [begun, ends] = [gate(), gate()];
    const seen: string[] = [];
    @Injectable()
    class Database implements OnModuleDestroy {
      onModuleDestroy() {
        seen.push('database closed');
      }
    }
    @Injectable()
    class Auditing {
      @OnCreate(fn)
      async created({ id }: JobEvent) {
        begun.open();
        await ends.passed;
        seen.push(`audited ${id}`);
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Auditing, Database] });
    await listening(fn);
    await app.get(GearMonkeyClient).run(fn, null);
    await begun.passed;
    const closing = app.close();
    setImmediate(ends.open);
    await closing;
    expect(seen).toEqual(['audited 1', 'database closed']);
  });

  it('that never end do not keep their app from closing', async () => {
    const fn = used.fn();
    const begun = gate();
    @Injectable()
    class Hanging {
      @OnCreate(fn)
      created() {
        begun.open();
        return new Promise(() => undefined);
      }
    }
    const connection = `memory:hanging-${fn}` as const;
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection, shutdownTimeout: 20 })],
      providers: [Hanging],
    });
    await app.get(GearMonkeyClient).run(fn, null);
    await begun.passed;
    await app.close();
  });

  it('are not called after their app has closed', async () => {
    const fn = used.fn();
    const { Observers, seen } = observersOf(fn);
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Observers] });
    const client = (await apps.start({ imports: [gearmonkey(fn)], providers: [workerOf(fn)] })).get(
      GearMonkeyClient,
    );
    await app.close();
    await client.call(fn, null);
    expect(seen).toEqual([]);
  });
});

describe('calls of observers that have ended', () => {
  const apps = useApps();

  it('are not kept', async () => {
    const { Observers, seen } = observersOf('kept');
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    const app = await apps.start({ imports, providers: [Observers, workerOf('kept')] });
    await app.get(GearMonkeyClient).call('kept', null);
    await eventually(() => expect(seen).toHaveLength(4));
    await app.close();
    const running = Reflect.get(app.get(ObserverOrchestrator), 'running') as Map<unknown, string>;
    expect([...running.values()]).toEqual([]);
  });
});

describe('observers of an app that closes', () => {
  const apps = useApps();

  it('are not called for jobs that its other hooks enqueue', async () => {
    @Injectable()
    class Last implements OnModuleDestroy {
      constructor(private readonly client: GearMonkeyClient) {}
      async onModuleDestroy() {
        await this.client.run('last', null);
      }
    }
    const { Observers, seen } = observersOf('last');
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    const app = await apps.start({ imports, providers: [Observers, Last] });
    await app.close();
    expect(seen).toEqual([]);
  });
});

describe('observers of request-scoped and durable classes', () => {
  const apps = useApps();
  const gearmonkey = (fn: string) => GearMonkeyModule.forRoot({ connection: `memory:scoped-${fn}` });

  it('are made for each event, with what depends on it', async () => {
    const fn = used.fn();
    const made: object[] = [];
    const seen: unknown[] = [];
    @Injectable({ scope: Scope.REQUEST })
    class Audit {
      constructor(@Inject(REQUEST) readonly event: JobEvent) {}
    }
    @Injectable()
    class Observers {
      constructor(readonly audit: Audit) {
        made.push(this);
      }
      @OnFinish(fn)
      finished(event: JobEvent) {
        seen.push([event.id, this.audit.event === event]);
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Audit, Observers, workerOf(fn)] });
    const client = app.get(GearMonkeyClient);
    for (const input of [1, 2]) await client.call(fn, input);
    await eventually(() =>
      expect(seen).toEqual([
        ['1', true],
        ['2', true],
      ]),
    );
    expect(made).toHaveLength(2);
  });

  it('are shared by the events of a tenant where they are durable', async () => {
    const fn = used.fn();
    const seen: string[] = [];
    const tenants = new Map<string, ContextId>();
    ContextIdFactory.apply({
      attach(contextId, request: { id: string }) {
        const tenant = Number(request.id) % 2 === 0 ? 'even' : 'odd';
        const shared = tenants.get(tenant) ?? contextId;
        tenants.set(tenant, shared);
        return { resolve: ({ isTreeDurable }) => (isTreeDurable ? shared : contextId), payload: { tenant } };
      },
    });
    let made = 0;
    @Injectable({ scope: Scope.REQUEST, durable: true })
    class Observers {
      readonly count = ++made;
      constructor(@Inject(REQUEST) readonly request: { tenant: string }) {}
      @OnCreate(fn)
      created({ id }: JobEvent) {
        seen.push(`${id} ${this.request.tenant} ${this.count}`);
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Observers] });
    try {
      await app.get(GearMonkeyClient).runMany(fn, [1, 2, 3, 4]);
      await eventually(() => expect(seen).toHaveLength(4));
    } finally {
      ContextIdFactory.apply(undefined as never);
    }
    expect(seen.toSorted()).toEqual(['1 odd 1', '2 even 2', '3 odd 1', '4 even 2']);
  });

  it('that can not be made are logged by name, and the next event is tried again', async () => {
    const fn = used.fn();
    let tries = 0;
    const seen: string[] = [];
    @Injectable({ scope: Scope.REQUEST })
    class Observers {
      constructor() {
        tries += 1;
        if (tries === 1) throw new Error('no tenant');
      }
      @OnCreate(fn)
      created({ id }: JobEvent) {
        seen.push(id);
      }
    }
    const errors: unknown[] = [];
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Observers] });
    Logger.overrideLogger({
      error: (m: unknown) => errors.push(String(m)),
      log() {},
      warn() {},
    } as LoggerService);
    const client = app.get(GearMonkeyClient);
    await client.run(fn, 1);
    await client.run(fn, 2);
    await eventually(() => expect(seen).toEqual(['2']));
    Logger.overrideLogger(false);
    expect(errors).toEqual(['Observers.created failed: Error: no tenant']);
  });
});
