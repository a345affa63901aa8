import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  type INestApplicationContext,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  InjectGearMonkey,
  Worker,
  defineJob,
} from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const used = useRedis();
const apps = useApps();
const WAIT = { timeout: '20s' };

describe.each([
  ['memory', (fn: string) => `memory:races-${fn}`],
  ['Redis', () => used.url],
])('Handlers that change while jobs run, on %s', (_, connectionOf) => {
  const gearmonkey = (fn: string) => GearMonkeyModule.forRoot({ connection: connectionOf(fn) });
  const startWith = async (fn: string) => partsOf(await apps.start({ imports: [gearmonkey(fn)] }));

  it('a concurrency that is set while a handler stops does not start it again', async () => {
    const fn = used.fn();
    const ends = gate();
    const ran: string[] = [];
    const { workers, client } = await startWith(fn);
    const handle = async (_: unknown, { id }: { id: string }) => {
      ran.push(id);
      await ends.passed;
    };
    const added = await workers.add(fn, handle, { concurrency: 2 });
    const first = await client.run(fn, 1);
    await eventually(() => expect(ran).toEqual([first.id]));
    const stopping = added.stop({ drain: '1m' });
    await client.runMany(fn, [2, 3, 4]);
    workers.set(fn, { concurrency: 4 });
    ends.open();
    await stopping;
    expect(ran).toEqual([first.id]);
    expect(workers.list()).toEqual([]);
    await workers.add(fn, handle, { concurrency: 2 });
    expect(workers.list()).toMatchObject([{ concurrency: 2 }]);
    await eventually(() => expect(ran).toHaveLength(4));
  });

  it('stopping and adding in bursts loses no job, and runs none twice', async () => {
    const fn = used.fn();
    const ran = new Map<string, number>();
    const { workers, client } = await startWith(fn);
    const handle = async (_: unknown, { id }: { id: string }) => {
      await new Promise((resolve) => setImmediate(resolve));
      ran.set(id, (ran.get(id) ?? 0) + 1);
      return id;
    };
    const results: Promise<unknown>[] = [];
    for (let round = 0; round < 25; round++) {
      const added = await workers.add(fn, handle, { concurrency: 8 });
      const jobs = await client.runMany(fn, Array.from({ length: 30 }));
      results.push(...jobs.map((job) => job.result(WAIT)));
      workers.set(fn, { concurrency: round % 3 });
      await added.stop({ drain: '10s' });
    }
    await workers.add(fn, handle, { concurrency: 8 });
    const ids = await Promise.all(results);
    expect(new Set(ids).size).toBe(25 * 30);
    expect([...ran.values()].filter((times) => times > 1)).toEqual([]);
    const jobs = await Promise.all((ids as string[]).map((id) => client.get(fn, id)));
    expect(jobs.filter((job) => job?.attempts !== 1 && job?.state !== 'succeeded')).toEqual([]);
  });

  it.each([1e9, Number.MAX_SAFE_INTEGER])('a concurrency of %d runs what there is', async (concurrency) => {
    const fn = used.fn();
    const { workers, client } = await startWith(fn);
    await workers.add(fn, (input) => input, { concurrency });
    const jobs = await client.runMany(
      fn,
      Array.from({ length: 500 }, (_, index) => index),
    );
    const outputs = await Promise.all(jobs.map((job) => job.result(WAIT)));
    expect(outputs).toEqual(jobs.map((_, index) => index));
  });

  it('a concurrency that is set while a handler is being added holds', async () => {
    const fn = used.fn();
    const { workers } = await startWith(fn);
    const adding = workers.add(fn, () => undefined);
    workers.set(fn, { concurrency: 7 });
    await adding;
    expect(workers.list()).toMatchObject([{ fn, concurrency: 7 }]);
    const more = used.fn('more');
    const addingMore = workers.add(more, () => undefined);
    workers.set(more, { concurrency: 3 });
    const added = await addingMore;
    expect(workers.list()).toMatchObject([{ concurrency: 7 }, { concurrency: 3 }]);
    await added.stop();
    await workers.add(more, () => undefined, { concurrency: 2 });
    expect(workers.list()).toMatchObject([{ concurrency: 7 }, { concurrency: 2 }]);
  });

  it('a handler that is stopped while the app starts does not run', async () => {
    const fn = used.fn();
    const ran: unknown[] = [];
    @Injectable()
    class Changing implements OnApplicationBootstrap {
      constructor(private readonly workers: GearMonkeyWorkers) {}
      async onApplicationBootstrap() {
        const added = await this.workers.add(fn, (input) => void ran.push(input));
        await this.workers.add(used.fn(), () => undefined);
        setImmediate(() => void added.stop());
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Changing] });
    const { workers, client } = partsOf(app);
    await eventually(() => expect(workers.list().map((each) => each.fn)).not.toContain(fn));
    await eventually(() => expect(client.rollCall(fn)).rejects.toThrow('No worker'));
    await client.run(fn, 1);
    await workers.add(fn, (input) => `again ${String(input)}`);
    await expect(client.call(fn, 2, WAIT)).resolves.toBe('again 2');
    expect(ran).toEqual([]);
  });

  it('a function may be added again with a new definition of its name', async () => {
    const fn = used.fn();
    const { workers, client } = await startWith(fn);
    const define = () => defineJob<string, string>(fn, { codec: 'text' });
    for (const round of ['one', 'two']) {
      const definition = define();
      const added = await workers.add(definition, (text) => `${round} ${text}`);
      await expect(client.call(definition, 'job', WAIT)).resolves.toBe(`${round} job`);
      await expect(client.call(fn, 'by name', WAIT)).resolves.toBe(`${round} by name`);
      await added.stop();
    }
  });

  it('an add that is refused for its definition leaves nothing running', async () => {
    const fn = used.fn();
    const first = defineJob<null, string>(fn);
    @Injectable()
    class Off {
      @Worker(first, { enabled: false })
      run() {
        return 'off';
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Off] });
    const { workers, client } = partsOf(app);
    await expect(workers.add(defineJob<null, string>(fn), () => 'second')).rejects.toThrow('defined twice');
    expect(workers.list()).toEqual([]);
    await workers.add(first, () => 'first');
    await expect(client.call(first, null, WAIT)).resolves.toBe('first');
  });
});

describe('Handlers that are added', () => {
  const memory = (name?: string) => GearMonkeyModule.forRoot({ connection: 'memory:', name });

  it('to an app that was closed before it had started are refused', async () => {
    const app = await apps.create({ imports: [memory()] });
    const { workers } = partsOf(app);
    await app.close();
    await expect(workers.add('late', () => undefined)).rejects.toThrow('The app is closing or closed');
  });

  it('to an instance of a module that is loaded lazily run, until the app closes', async () => {
    @Injectable()
    class Reports {
      constructor(@InjectGearMonkey('lazy') readonly client: GearMonkeyClient) {}
    }
    @Module({ imports: [memory('lazy')], providers: [Reports] })
    class Lazy {}
    const app = await apps.start({ imports: [memory()] });
    const { workers } = partsOf(app);
    const { client } = (await app.get(LazyModuleLoader).load(() => Lazy)).get(Reports);
    await workers.add('late', (input) => `ran ${String(input)}`, { instance: 'lazy' });
    expect(workers.list()).toMatchObject([{ instance: 'lazy', fn: 'late' }]);
    await expect(client.call('late', 1, WAIT)).resolves.toBe('ran 1');
    await app.close();
    expect(workers.list()).toEqual([]);
    await expect(workers.add('later', () => undefined, { instance: 'lazy' })).rejects.toThrow(
      'The app is closing or closed',
    );
  });
});

function partsOf(app: INestApplicationContext) {
  return { app, workers: app.get(GearMonkeyWorkers), client: app.get(GearMonkeyClient) };
}
