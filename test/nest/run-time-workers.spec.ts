import { describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, type INestApplicationContext, type OnModuleInit, type Type } from '@nestjs/common';
import {
  ConfigurationError,
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  InvalidOptionError,
  Worker,
  defineJob,
  progress,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const used = useRedis();
const apps = useApps();
const connections = [
  ['memory', (fn: string) => `memory:run-time-${fn}`],
  ['Redis', () => used.url],
] as const;
const WAIT = { timeout: '20s' };

describe.each(connections)('GearMonkeyWorkers on %s', (_, connectionOf) => {
  const gearmonkey = (fn: string, workers?: boolean) =>
    GearMonkeyModule.forRoot({ connection: connectionOf(fn), workers });
  const startWith = async (fn: string, providers: Type[] = [], workers?: boolean) =>
    partsOf(await apps.start({ imports: [gearmonkey(fn, workers)], providers }));

  /** Jobs that run until the test lets them end, and how many run. */
  function held(fn: string, concurrency: number) {
    const ends = gate();
    const ran: string[] = [];
    @Injectable()
    class Handlers {
      @Worker(fn, { concurrency })
      async run(_: unknown, { id }: RunningJob) {
        ran.push(id);
        await ends.passed;
      }
    }
    return { Handlers, ran, end: ends.open };
  }

  it('runs jobs in the context of neither the request that added the handler nor the one that enqueued', async () => {
    const fn = used.fn();
    const requests = new AsyncLocalStorage<string>();
    const { workers, client } = await startWith(fn);
    await requests.run('adds', () => workers.add(fn, () => requests.getStore() ?? 'none'));
    await expect(requests.run('enqueues', () => client.call(fn, 1, WAIT))).resolves.toBe('none');
  });

  it('sets more: jobs that wait begin at once', async () => {
    const fn = used.fn();
    const { Handlers, ran, end } = held(fn, 1);
    const { workers, client } = await startWith(fn, [Handlers]);
    await client.runMany(fn, [1, 2, 3, 4]);
    await eventually(() => expect(ran).toHaveLength(1));
    workers.set(fn, { concurrency: 3 });
    await eventually(() => expect(ran).toHaveLength(3));
    expect(workers.list()).toEqual([{ instance: 'default', fn, concurrency: 3, running: 3 }]);
    end();
  });

  it('sets fewer: what runs goes on, and no more begins until there is room', async () => {
    const fn = used.fn();
    const { Handlers, ran, end } = held(fn, 3);
    const { workers, client } = await startWith(fn, [Handlers]);
    const jobs = await client.runMany(fn, [1, 2, 3]);
    await eventually(() => expect(ran).toHaveLength(3));
    workers.set(fn, { concurrency: 1 });
    const last = await client.run(fn, 4);
    end();
    await Promise.all([...jobs, last].map((job) => job.result(WAIT)));
    expect(ran).toHaveLength(4);
    expect(workers.list()).toEqual([{ instance: 'default', fn, concurrency: 1, running: 0 }]);
  });

  it('pauses with 0, for its process alone, and goes on with more', async () => {
    const fn = used.fn();
    const [here, there] = [held(fn, 2), held(fn, 2)];
    here.end();
    there.end();
    const first = await startWith(fn, [here.Handlers]);
    const second = await startWith(fn, [there.Handlers]);
    first.workers.set(fn, { concurrency: 0 });
    const jobs = await first.client.runMany(fn, Array.from({ length: 20 }));
    await Promise.all(jobs.map((job) => job.result(WAIT)));
    expect([here.ran.length, there.ran.length]).toEqual([0, 20]);
    second.workers.set(fn, { concurrency: 0 });
    const job = await second.client.run(fn, null);
    first.workers.set(fn, { concurrency: 1 });
    await job.result(WAIT);
    expect(here.ran).toEqual([job.id]);
  });

  it('takes what was set before the app had started', async () => {
    const fn = used.fn();
    @Injectable()
    class Early implements OnModuleInit {
      constructor(private readonly workers: GearMonkeyWorkers) {}
      onModuleInit() {
        this.workers.set(fn, { concurrency: 5 });
      }
    }
    const { workers } = await startWith(fn, [held(fn, 1).Handlers, Early]);
    expect(workers.list()).toMatchObject([{ fn, concurrency: 5 }]);
  });

  it('runs what is added, with its definition, progress and options, until it is stopped', async () => {
    const fn = used.fn();
    const upper = defineJob<string, string>(fn, { codec: 'text' });
    const { workers, client } = await startWith(fn);
    await expect(client.rollCall(fn)).rejects.toThrow('No worker');
    const added = await workers.add(
      upper,
      async function* (text, { signal }) {
        signal.throwIfAborted();
        yield progress(1, 2);
        return text.toUpperCase();
      },
      { concurrency: 4, retry: { attempts: 2 } },
    );
    expect(added).toMatchObject({ fn, runs: true });
    expect(workers.list()).toEqual([{ instance: 'default', fn, concurrency: 4, running: 0 }]);
    await expect(client.call(fn, 'one', WAIT)).resolves.toBe('ONE');
    await added.stop();
    expect(workers.list()).toEqual([]);
    await expect(client.rollCall(fn)).rejects.toThrow('No worker');
    await client.run(upper, 'later');
    await workers.add(upper, (text) => `again ${text}`);
    await expect(client.call(upper, 'two', WAIT)).resolves.toBe('again two');
  });

  it('adds to an app with handlers that are busy, and their jobs are not held up', async () => {
    const fn = used.fn();
    const more = used.fn('more');
    const { Handlers, ran, end } = held(fn, 1);
    const { workers, client } = await startWith(fn, [Handlers]);
    const [first] = await client.runMany(fn, [1, 2]);
    await eventually(() => expect(ran).toHaveLength(1));
    const added = await workers.add(more, () => 'more');
    await expect(client.call(more, null, WAIT)).resolves.toBe('more');
    await added.stop();
    end();
    await first?.result(WAIT);
    await eventually(() => expect(ran).toHaveLength(2));
  });

  it('lets running jobs end for as long as `drain` says, then gives them back, and takes no other', async () => {
    const fn = used.fn();
    const ends = gate();
    const ran: string[] = [];
    const { workers, client } = await startWith(fn);
    const handle = async (_: unknown, { id, signal }: RunningJob) => {
      ran.push(id);
      await Promise.race([ends.passed, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
    };
    const patient = await workers.add(fn, handle);
    const one = await client.run(fn, 1);
    await eventually(() => expect(ran).toHaveLength(1));
    const stopping = patient.stop({ drain: '1m' });
    const two = await client.run(fn, 2);
    await expect(workers.add(fn, handle)).rejects.toThrow('wait for its stop()');
    ends.open();
    await stopping;
    await expect(one.get()).resolves.toMatchObject({ state: 'succeeded' });
    await expect(two.get()).resolves.toMatchObject({ state: 'waiting' });
    const never = gate();
    const hasty = await workers.add(fn, async (_, { id, signal }) => {
      ran.push(id);
      await Promise.race([never.passed, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
    });
    await eventually(() => expect(ran).toContain(two.id));
    await hasty.stop({ drain: 0 });
    await expect(two.get()).resolves.toMatchObject({ state: 'waiting' });
    await expect(hasty.stop({ drain: '1m' })).resolves.toBeUndefined();
  });

  it('adds before the app has started, for then', async () => {
    const fn = used.fn();
    let stopped = '';
    @Injectable()
    class Early implements OnModuleInit {
      constructor(private readonly workers: GearMonkeyWorkers) {}
      async onModuleInit() {
        await this.workers.add(fn, () => 'early');
        const other = await this.workers.add(used.fn(), () => 'never');
        await other.stop();
        stopped = other.fn;
      }
    }
    const { workers, client } = await startWith(fn, [Early]);
    await expect(client.call(fn, null, WAIT)).resolves.toBe('early');
    expect(workers.list().map((each) => each.fn)).toEqual([fn]);
    expect(stopped).not.toBe('');
  });

  it('adds nothing where workers do not run, and says so', async () => {
    const fn = used.fn();
    const { workers, client } = await startWith(fn, [held(used.fn(), 1).Handlers], false);
    const added = await workers.add(fn, () => undefined);
    expect(added.runs).toBe(false);
    await expect(client.rollCall(fn)).rejects.toThrow('No worker');
    await expect(workers.add(fn, () => undefined)).rejects.toThrow(ConfigurationError);
    expect(() => workers.set(fn, { concurrency: 2 })).not.toThrow();
    await added.stop();
    expect(workers.list()).toEqual([]);
  });

  it('stops with the app: what was added drains as the rest does, and nothing is added any more', async () => {
    const fn = used.fn();
    const ends = gate();
    const { app, workers } = await startWith(fn);
    const added = await workers.add(fn, () => ends.passed);
    const { client } = await startWith(fn);
    const job = await client.run(fn, null);
    await eventually(() => expect(workers.list()).toMatchObject([{ running: 1 }]));
    const closing = app.close();
    const stopping = added.stop();
    const adding = () => workers.add(used.fn(), () => undefined);
    await eventually(() => expect(adding()).rejects.toThrow('The app is closing or closed'));
    workers.set(fn, { concurrency: 9 });
    ends.open();
    await Promise.all([closing, stopping]);
    await expect(job.get()).resolves.toMatchObject({ state: 'succeeded' });
    await expect(added.stop()).resolves.toBeUndefined();
    await expect(client.rollCall(fn)).rejects.toThrow('No worker');
  });
});

describe('GearMonkeyWorkers', () => {
  const started = async (...providers: Type[]) =>
    partsOf(await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })], providers }));
  @Injectable()
  class Handlers {
    @Worker('mail')
    mail() {}
  }

  it('refuses a function that has a handler, and names it', async () => {
    const { workers } = await started(Handlers);
    await expect(workers.add('mail', () => undefined)).rejects.toThrow(
      '"mail" has a handler here: Handlers.mail. Stop that one first',
    );
    @Injectable()
    class Early implements OnModuleInit {
      constructor(private readonly own: GearMonkeyWorkers) {}
      async onModuleInit() {
        await this.own.add('mail', () => undefined);
      }
    }
    await expect(started(Handlers, Early)).rejects.toThrow(
      'GearMonkeyWorkers.add("mail") and Handlers.mail both handle "mail"',
    );
  });

  it.each([
    [
      'set a function without a handler',
      (w: GearMonkeyWorkers) => w.set('male', { concurrency: 1 }),
      'there are: "mail"',
    ],
    [
      'set text',
      (w: GearMonkeyWorkers) => w.set('mail', { concurrency: '2' as never }),
      'a whole number, 0 or more',
    ],
    ['set less than nothing', (w: GearMonkeyWorkers) => w.set('mail', { concurrency: -1 }), 'a whole number'],
    [
      'set what can not be set',
      (w: GearMonkeyWorkers) => w.set('mail', { timeout: 1 } as never),
      'no option `timeout`',
    ],
    [
      'set in no instance',
      (w: GearMonkeyWorkers) => w.set('mail', { concurrency: 1, instance: 'x' }),
      'the instance "x"',
    ],
    ['add a wrong name', (w: GearMonkeyWorkers) => w.add('a b', () => undefined), 'white space'],
    ['add no function', (w: GearMonkeyWorkers) => w.add('a', 'handler' as never), 'must be a function'],
    [
      'add none at a time',
      (w: GearMonkeyWorkers) => w.add('a', () => undefined, { concurrency: 0 }),
      'concurrency of GearMonkeyWorkers.add("a")',
    ],
  ])('does not %s', async (_, act, said) => {
    const { workers } = await started(Handlers);
    const acting = Promise.resolve().then(() => act(workers));
    await expect(acting).rejects.toThrow(said);
    await expect(acting).rejects.toMatchObject({ code: expect.stringMatching(/CONFIGURATION|INVALID/) });
    expect(workers.list()).toMatchObject([{ fn: 'mail', concurrency: 1 }]);
  });

  it('does not start an app that set a function without a handler', async () => {
    @Injectable()
    class Early implements OnModuleInit {
      constructor(private readonly workers: GearMonkeyWorkers) {}
      onModuleInit() {
        this.workers.set('male', { concurrency: 2 });
      }
    }
    await expect(started(Handlers, Early)).rejects.toThrow('GearMonkeyWorkers.set names "male"');
  });

  it('does not stop within a negative time, and can still stop', async () => {
    const { workers } = await started();
    const { stop } = await workers.add('a', () => undefined);
    await expect(stop({ drain: -1 })).rejects.toThrow(InvalidOptionError);
    await stop({ drain: '1s' });
    expect(workers.list()).toEqual([]);
  });

  it('runs handlers that are added at the same time', async () => {
    const { workers } = await started();
    await Promise.all(['a', 'b'].map((fn) => workers.add(fn, () => undefined)));
    expect(workers.list()).toMatchObject([{ fn: 'a' }, { fn: 'b' }]);
  });

  it('forgets what was set for a handler that was stopped', async () => {
    const { workers } = await started();
    const { stop } = await workers.add('a', () => undefined);
    workers.set('a', { concurrency: 0 });
    await stop();
    await workers.add('a', () => undefined, { concurrency: 3 });
    expect(workers.list()).toMatchObject([{ fn: 'a', concurrency: 3 }]);
  });

  it('is an InvalidOptionError for a concurrency that is not a number', async () => {
    const { workers } = await started(Handlers);
    expect(() => workers.set('mail', { concurrency: Number.NaN })).toThrow(InvalidOptionError);
  });
});

function partsOf(app: INestApplicationContext) {
  return { app, workers: app.get(GearMonkeyWorkers), client: app.get(GearMonkeyClient) };
}
