import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { inspect } from 'node:util';
import * as bullmq from '../lib/bullmq/index.js';
import * as root from '../lib/index.js';
import * as jobd from '../lib/jobd/index.js';
import * as jq from '../lib/jq/index.js';
import * as qless from '../lib/qless/index.js';
import * as testing from '../lib/testing/index.js';
import type { QlessCalls } from '../lib/qless/client/calls.js';
import { jobRecord } from '../lib/qless/wire/replies.js';
import { SILENT } from '../lib/jobd/vocabulary/logging.js';
import { SECRET } from './support/hostile-values.js';
import { useApps } from './support/use-apps.js';

const ENTRY_POINTS = { root, bullmq, jobd, jq, qless, testing };
/** More than this is no longer read by a person. */
const MAX_CHARACTERS = 600;

const redis = `redis://app:${SECRET}@127.0.0.1:1`;
const database = `mysql://app:${SECRET}@127.0.0.1:9/shop`;
const auth = { password: SECRET };
const server = { host: 'h', port: 1, auth, log: SILENT };

type Class = abstract new (...args: never[]) => object;

function classesOf(entry: object): [string, Class][] {
  return Object.entries(entry).filter(
    (pair): pair is [string, Class] => typeof pair[1] === 'function' && /^class\b/.test(String(pair[1])),
  );
}

const all = Object.values(ENTRY_POINTS).flatMap(classesOf);
const isError = ([, type]: [string, Class]) => type.prototype instanceof Error;

describe('classes of this package', () => {
  const apps = useApps();

  /** One object of each class, with a password wherever there may be one. */
  async function objects(): Promise<Record<string, object>> {
    const app = await appWithAll();
    const client = new qless.QlessClient({ connection: redis, worker: 'me' });
    const calls = Reflect.get(client, 'calls') as QlessCalls;
    const record = jobRecord({
      jid: 'j',
      klass: 'Mail',
      queue: 'q',
      state: 'running',
      data: `"a"`,
      expires: 7,
      failure: {},
      history: [],
    });
    const jqClient = new jq.JqClient({ master: 'http://127.0.0.1:1', token: SECRET });
    const steps = {
      value: 1,
      encode: () => async () => undefined,
      now: () => 0,
      afterAdvance: async () => undefined,
    };
    const cursor = new root.JobCursor(steps);
    const daemon = new jobd.JobdDaemon({ database, launcher: 'a', env: { KEY: SECRET }, targets: new Map() });
    const instance = new jobd.JobdInstance(
      { database, server: { kind: 'master', port: 9, password: SECRET } },
      SILENT,
    );
    const test = await testApp();
    return {
      ...app,
      ...(await appOfBullmq()),
      ProgressUpdate: root.progress(1, 2),
      JobCursor: cursor,
      OutputChunk: root.chunk(1),
      BatchOutcome: root.ok({ password: 1 }),
      GearMonkeyExceptionFilter: new root.GearMonkeyExceptionFilter(),
      QlessClient: client,
      QlessModule: new qless.QlessModule(client),
      QlessQueue: client.queue('q'),
      QlessPopper: client.popper(['q']),
      QlessJobs: client.jobs,
      QlessJob: new qless.QlessJob(calls, record),
      QlessRecurring: client.recurring,
      QlessRecurringJob: new qless.QlessRecurringJob(calls, {
        ...record,
        interval: 60,
        count: 0,
        backlog: 0,
      }),
      QlessWorkers: client.workers,
      QlessConfig: client.config,
      QlessEvents: client.events,
      JqClient: jqClient,
      JqJobHandle: new jq.JqJobHandle(jqClient, '1', 'mail'),
      JqModule: new jq.JqModule(),
      JqMasterModule: new jq.JqMasterModule(),
      EmbeddedJqMaster: new jq.EmbeddedJqMaster({ connection: redis, tokens: { admin: [SECRET] } }),
      JobdDaemon: daemon,
      JobdMaster: new jobd.JobdMaster(server),
      JobdWorker: new jobd.JobdWorker(daemon, { ...server, name: 'n' }),
      JobdSource: new jobd.JobdSource({ database, targets: ['a'] }),
      JobdInstance: instance,
      JobdClient: instance.client,
      JobdModule: new jobd.JobdModule(instance),
      ...test,
    };
  }

  async function appWithAll() {
    let job: object | undefined;
    @Injectable()
    class Handlers {
      @root.Worker('seen')
      seen(_: unknown, running: root.RunningJob) {
        job = running;
      }
    }
    const app = await apps.start({
      imports: [
        root.GearMonkeyModule.forRoot({ connection: 'memory:' }),
        root.GearMonkeyModule.forRoot({ connection: redis, name: 'other' }),
      ],
      providers: [Handlers],
    });
    const client = app.get(root.GearMonkeyClient);
    const handle = await client.run('seen', 'a', { blocking: true, timeout: '20s' });
    if (!job) throw new Error('The handler was not called');
    return {
      GearMonkeyClient: client,
      JobHandle: handle,
      Flow: await client.flow({ job: 'seen', input: 'a' }),
      JobSchedules: client.schedules,
      RunningJob: job,
      GearMonkeyHealth: app.get(root.GearMonkeyHealth),
      GearMonkeyWorkers: app.get(root.GearMonkeyWorkers),
      GearMonkeyModule: app.get(root.GearMonkeyModule),
    };
  }

  async function appOfBullmq() {
    class Mails extends bullmq.WorkerHost {
      async process(job: bullmq.Job) {
        return job.name;
      }
    }
    bullmq.Processor('mails')(Mails);
    const app = await apps.start({
      imports: [
        bullmq.BullModule.forRoot({ connection: 'memory:' }),
        bullmq.BullModule.forRoot('other', { connection: { url: redis } }),
        bullmq.BullModule.registerQueue({ name: 'mails' }),
      ],
      providers: [Mails],
    });
    const queue = app.get<bullmq.Queue>(bullmq.getQueueToken('mails'));
    const host = app.get(Mails);
    return {
      BullModule: app.get(bullmq.BullModule),
      Job: await queue.add('welcome', 1, { attempts: 2 }),
      ProcessorWorker: host.worker,
      Queue: queue,
      QueueEvents: new bullmq.QueueEvents('mails', { connection: { url: redis } }),
      WorkerHost: host,
    };
  }

  async function testApp() {
    const module = await Test.createTestingModule({
      imports: [testing.GearMonkeyTestingModule.forRoot()],
    }).compile();
    const client = module.get(testing.GearMonkeyTestClient);
    const testingModule = module.get(testing.GearMonkeyTestingModule);
    await module.close();
    return {
      GearMonkeyTestClient: client,
      TestJobs: client.test,
      GearMonkeyTestingModule: testingModule,
    };
  }

  it('are shown briefly, without a password, and no getter throws', async () => {
    const made = await objects();
    const names = all.filter((pair) => !isError(pair)).map(([name]) => name);
    // A new public class needs an object above.
    expect(Object.keys(made).toSorted()).toEqual(names.toSorted());
    const problems = Object.entries(made).flatMap(([name, thing]) => {
      const texts = shown(thing);
      return [
        ...(texts.some((text) => text.includes(SECRET)) ? [`${name} shows the password`] : []),
        ...(texts.some((text) => text.length > MAX_CHARACTERS)
          ? [`${name} shows too much: ${texts.map((text) => text.slice(0, 300)).join('\n')}`]
          : []),
        ...throwingGetters(thing).map((getter) => `${name}.${getter} throws`),
      ];
    });
    expect(problems).toEqual([]);
  });
});

/** As a log, a controller that returns it, and a debugger show it. */
function shown(thing: object): string[] {
  return [
    () => JSON.stringify(thing),
    () => JSON.stringify({ ...thing }),
    () => inspect(thing, { depth: 20 }),
    () => inspect({ of: [thing] }, { depth: Infinity, showHidden: true, getters: true }),
  ].map((show) => {
    try {
      return show();
    } catch (error) {
      return `${String(error)} ${'.'.repeat(MAX_CHARACTERS)}`;
    }
  });
}

function throwingGetters(thing: object): string[] {
  const getters = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(thing) as object));
  return getters.flatMap(([name, { get }]) => {
    try {
      get?.call(thing);
      return [];
    } catch {
      return [name];
    }
  });
}

describe('errors of this package', () => {
  it('all have a code, and their message in JSON', () => {
    const errors = all.filter(isError);
    expect(errors.length).toBeGreaterThan(30);
    const without = errors.filter(([, type]) => !('toJSON' in type.prototype));
    expect(without).toEqual([]);
  });
});
