import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  RunningJob,
  CurrentJob,
  Input,
  Worker,
  defineJob,
  type EnqueueMiddleware,
  type GearMonkeyModuleOptions,
  type JobMiddleware,
  type JobsToEnqueue,
} from 'nestjs-gearmonkey';
import { qless } from '../../lib/qless/index.js';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

@Injectable()
class Handlers {
  @Worker('echo')
  echo(@Input() input: unknown, @CurrentJob() { headers }: RunningJob) {
    return { input, headers };
  }
}

const timeout = '10s';
let servers = 0;

describe('aroundEnqueue', () => {
  const redis = useRedis();
  const apps = useApps();

  const start = (...middleware: JobMiddleware[]) => startWith(middleware);
  async function startWith(given: unknown) {
    const middleware = given as JobMiddleware[];
    const imports = [GearMonkeyModule.forRoot({ connection: `memory:${(servers += 1)}`, middleware })];
    return (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
  }

  const seen: JobsToEnqueue[][] = [];
  const watching: EnqueueMiddleware = {
    aroundEnqueue: (jobs, next) => {
      seen.push([...jobs]);
      return next();
    },
  };
  const changing = (change: (job: JobsToEnqueue) => Partial<JobsToEnqueue>): EnqueueMiddleware => ({
    aroundEnqueue: (jobs, next) => next(jobs.map((job) => ({ ...job, ...change(job) }))),
  });

  it.each<[string, (jobs: GearMonkeyClient) => Promise<unknown>, JobsToEnqueue[]]>([
    [
      'run',
      (jobs) => jobs.run('echo', 1, { priority: 'high', blocking: true, timeout }),
      [{ fn: 'echo', inputs: [1], options: { priority: 'high' } }],
    ],
    ['run without options', (jobs) => jobs.run('echo', 1), [{ fn: 'echo', inputs: [1], options: {} }]],
    ['call', (jobs) => jobs.call('echo', 1, { timeout }), [{ fn: 'echo', inputs: [1], options: {} }]],
    [
      'runMany',
      (jobs) => jobs.runMany('echo', [1, 2], { tags: ['two'] }),
      [{ fn: 'echo', inputs: [1, 2], options: { tags: ['two'] } }],
    ],
    [
      'flow',
      (jobs) =>
        jobs.flow({
          job: 'echo',
          input: 1,
          children: [{ job: 'later', input: 2, options: { tags: ['b'] } }],
        }),
      [
        { fn: 'echo', inputs: [1], options: {} },
        { fn: 'later', inputs: [2], options: { tags: ['b'] } },
      ],
    ],
  ])('sees the jobs of %s', async (_, enqueue, jobs) => {
    seen.length = 0;
    await enqueue(await start(watching));
    expect(seen).toEqual([jobs]);
  });

  it('changes inputs and options of each call', async () => {
    const jobs = await start(
      changing(({ inputs }) => ({
        inputs: inputs.map((input) => `${input}!`),
        options: { headers: { by: 'middleware' } },
      })),
    );
    const changed = { input: 'a!', headers: { by: 'middleware' } };
    await expect(jobs.call('echo', 'a', { timeout })).resolves.toEqual(changed);
    const [many] = await jobs.runMany('echo', ['a']);
    await expect(many?.result({ timeout })).resolves.toEqual(changed);
    const flow = await jobs.flow({ job: 'echo', input: 'a' });
    await expect(flow.root.result({ timeout })).resolves.toEqual(changed);
  });

  it('passes what it changed to the next one in the list', async () => {
    const add = (text: string) =>
      changing(({ inputs }) => ({ inputs: inputs.map((input) => `${input}${text}`) }));
    const jobs = await start(add('b'), add('c'));
    await expect(jobs.call('echo', 'a', { timeout })).resolves.toMatchObject({ input: 'abc' });
  });

  it('hears which jobs there are then, once, however often it calls next', async () => {
    const heard: unknown[] = [];
    const jobs = await start({
      aroundEnqueue: async (_, next) => {
        heard.push(await next(), await next());
        return 'ignored';
      },
    });
    const { id } = await jobs.run('echo', 1);
    expect(heard).toEqual([[{ fn: 'echo', id, created: true }], [{ fn: 'echo', id, created: true }]]);
    await expect(jobs.functions()).resolves.toEqual(['echo']);
  });

  it('refuses jobs by throwing, before anything is written', async () => {
    const jobs = await start({
      aroundEnqueue: () => {
        throw new RangeError('not now');
      },
    });
    await expect(jobs.run('refused', 1)).rejects.toThrow(RangeError);
    await expect(jobs.runMany('refused', [1])).rejects.toThrow(RangeError);
    await expect(jobs.flow({ job: 'refused', input: 1 })).rejects.toThrow(RangeError);
    await expect(jobs.functions()).resolves.toEqual(['echo']);
  });

  it.each<[string, EnqueueMiddleware, object]>([
    ['does not call next', { aroundEnqueue: () => undefined }, { code: 'CONFIGURATION' }],
    ['passes fewer jobs on', { aroundEnqueue: (_, next) => next([]) }, { code: 'INVALID_OPTION' }],
    [
      'passes fewer inputs on',
      changing(() => ({ inputs: [] })),
      { code: 'INVALID_OPTION', option: 'inputs' },
    ],
    ['changes the function', changing(() => ({ fn: 'other' })), { code: 'CONFIGURATION' }],
    [
      'adds an option that there is not',
      changing(() => ({ options: { speed: 1 } as never })),
      { code: 'CONFIGURATION' },
    ],
    [
      'passes a tag that is too long',
      changing(() => ({ options: { tags: ['a'.repeat(200)] } })),
      { code: 'INVALID_OPTION' },
    ],
  ])('fails the call if it %s, before anything is written', async (_, middleware, error) => {
    const jobs = await start(middleware);
    await expect(jobs.run('wrong', 1)).rejects.toMatchObject(error);
    await expect(jobs.runMany('wrong', [1])).rejects.toMatchObject(error);
    await expect(jobs.flow({ job: 'wrong', input: 1 })).rejects.toMatchObject(error);
    await expect(jobs.functions()).resolves.toEqual(['echo']);
  });

  it('enqueues nothing when it calls next after its call was refused', async () => {
    const late = gate();
    const called: unknown[] = [];
    const jobs = await start({
      aroundEnqueue: async (_, next) => {
        void late.passed.then(() => next()).catch((error: unknown) => called.push(error));
        throw new Error('refused');
      },
    });
    await expect(jobs.run('echo', 1)).rejects.toThrow('refused');
    await expect(jobs.runMany('echo', [1])).rejects.toThrow('refused');
    await expect(jobs.flow({ job: 'echo', input: 1 })).rejects.toThrow('refused');
    late.open();
    await eventually(() => expect(called).toHaveLength(3));
    expect(called).toEqual(Array(3).fill(expect.objectContaining({ code: 'CONFIGURATION' })));
    await expect(jobs.get('echo', 1)).resolves.toBeNull();
  });

  it('gets the inputs of a call, whatever its caller does to the list', async () => {
    const go = gate();
    const jobs = await start({
      aroundEnqueue: async (_, next) => {
        await go.passed;
        return next();
      },
    });
    const inputs = [1, 2, 3];
    const enqueued = jobs.runMany('echo', inputs);
    inputs.length = 0;
    go.open();
    await expect(enqueued).resolves.toHaveLength(3);
  });

  it.each<[string, (jobs: readonly JobsToEnqueue[]) => unknown]>([
    ['an element that is none', () => [null]],
    [
      'a list of inputs that it has made longer',
      (jobs) => jobs.forEach(({ inputs }) => (inputs as unknown[]).push(9)),
    ],
  ])('rejects where it calls next with %s', async (_, change) => {
    const caught: unknown[] = [];
    const jobs = await start({
      aroundEnqueue: (given, next) =>
        next(change(given) as never).catch((error: unknown) => caught.push(error)),
    });
    await expect(jobs.runMany('echo', [1])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect(caught).toHaveLength(1);
    await expect(jobs.get('echo', 1)).resolves.toBeNull();
  });

  it('has what it passes on read once', async () => {
    const lists = [['a'], [], ['b', 'c']];
    const jobs = await start({
      aroundEnqueue: ([job], next) =>
        next([Object.defineProperty({ ...job }, 'inputs', { get: () => lists.shift() }) as JobsToEnqueue]),
    });
    await expect(jobs.runMany('echo', [1])).resolves.toHaveLength(1);
    expect(lists).toHaveLength(2);
  });

  it('has its changes checked by the schema', async () => {
    const seenBySchema: unknown[] = [];
    const definition = defineJob('checked', {
      input: {
        '~standard': {
          version: 1 as const,
          vendor: 'test',
          validate: (value: unknown) => {
            seenBySchema.push(value);
            return { value };
          },
        },
      },
    });
    const jobs = await start(changing(() => ({ inputs: ['changed'] })));
    await jobs.run(definition, 'given');
    expect(seenBySchema).toEqual(['changed']);
  });

  it.each<[string, unknown]>([
    ['no list', { aroundRun: () => undefined }],
    ['something that is no object', ['storage']],
    ['a hook that is no function', [{ aroundRun: 'storage' }]],
    ['no hook', [{}]],
    ['a hook that there is not', [{ beforeRun: () => undefined }]],
  ])('is refused with %s', async (_, middleware) => {
    await expect(startWith(middleware)).rejects.toMatchObject({
      code: expect.stringMatching(/INVALID_OPTION|CONFIGURATION/),
    });
  });

  it('is refused where no client of ours enqueues', async () => {
    const source = qless({ connection: redis.url, queues: ['mail'] });
    const given = { source, middleware: [watching] } as GearMonkeyModuleOptions;
    const imports = [GearMonkeyModule.forRoot(given)];
    await expect(apps.start({ imports, providers: [] })).rejects.toThrow(/aroundEnqueue.*source/);
    await source.close();
  });
});
