import { describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { inspect } from 'node:util';
import {
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  InvalidOptionError,
  JobFailedError,
  RefusedError,
  ValidationError,
  Worker,
  defineJob,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { z } from 'zod';
import { openConnections } from '../lib/gearmonkey/redis-connections.js';
import { RedisSource } from '../lib/gearmonkey/redis-source.js';
import { getInstanceToken } from '../lib/nest/tokens.js';
import { JobdDaemon, JobdInstance, JobdMaster, JobdWorker, jobd } from '../lib/jobd/index.js';
import { SILENT } from '../lib/jobd/vocabulary/logging.js';
import { JqClient, jq } from '../lib/jq/index.js';
import { QlessClient, qless } from '../lib/qless/index.js';
import { RedisConnection } from '../lib/redis/redis-connection.js';
import { SECRET } from './support/hostile-values.js';
import { useTls } from './support/tls.js';
import { eventually } from './support/until.js';
import { useApps } from './support/use-apps.js';

const redis = `redis://app:${SECRET}@127.0.0.1:1/2`;
const database = `mysql://app:${SECRET}@127.0.0.1:9/shop`;
const identity = useTls();
const tls = () => ({ key: identity.key, cert: identity.cert, ca: identity.ca });
const auth = { password: SECRET };
const master = { host: '127.0.0.1', port: 9, password: SECRET };

/** As a log, a controller that returns it, a test that fails and a debugger show it. */
const shown = (thing: object) => [
  JSON.stringify({ ...thing }),
  inspect({ ...thing }, { depth: 20 }),
  JSON.stringify(thing),
  JSON.stringify({ of: [thing] }),
  inspect(thing),
  inspect({ of: { thing } }, { depth: Infinity, showHidden: true, getters: true }),
];

const daemon = () =>
  new JobdDaemon({ database, launcher: 'a', targets: new Map([['mail', { concurrency: 1 }]]) });

/** What users may have in their hands, how it is shown, and how it is closed. */
const THINGS: readonly (readonly [string, () => object, object, ((thing: never) => unknown)?])[] = [
  [
    'RedisConnection',
    () => new RedisConnection({ host: '10.0.0.1', username: 'app', password: SECRET, tls: tls() }, 'a'),
    { server: '10.0.0.1:6379' },
  ],
  [
    'RedisSource',
    () =>
      new RedisSource(openConnections({ nodes: [redis], redisOptions: { password: SECRET, tls: tls() } })),
    { server: 'the cluster of 127.0.0.1:1', functions: [] },
    (source: RedisSource) => source.close(),
  ],
  [
    'QlessClient',
    () => new QlessClient({ connection: redis, worker: 'me' }),
    { server: '127.0.0.1:1', prefix: 'ql:', worker: 'me' },
    (client: QlessClient) => client.close(),
  ],
  ['QlessQueue', () => new QlessClient({ connection: redis }).queue('mail'), { name: 'mail' }],
  [
    'QlessPopper',
    () => new QlessClient({ connection: redis, worker: 'me' }).popper(['mail']),
    { queues: ['mail'], worker: 'me' },
  ],
  ['QlessJobs', () => new QlessClient({ connection: redis }).jobs, { server: '127.0.0.1:1', prefix: 'ql:' }],
  ['QlessEvents', () => new QlessClient({ connection: redis }).events, { prefix: 'ql:' }],
  [
    'QlessSource',
    () =>
      qless({
        connection: { sentinels: [{ host: 's', port: 2 }], name: 'm', password: SECRET },
        queues: ['q'],
        worker: 'me',
      }),
    { server: '"m" of the sentinels s:2', prefix: 'ql:', queues: ['q'], worker: 'me' },
  ],
  [
    'JqClient',
    () => new JqClient({ master: 'http://127.0.0.1:1/jq', token: SECRET }),
    { master: 'http://127.0.0.1:1/jq' },
    (client: JqClient) => client.close(),
  ],
  [
    'JqSource',
    () => jq({ master: 'http://127.0.0.1:1', token: SECRET }),
    { master: 'http://127.0.0.1:1', functions: [] },
  ],
  ['JobdDaemon', daemon, { database: 'mysql://127.0.0.1:9/shop', table: 'jobs', targets: ['mail'] }],
  [
    'JobdMaster',
    () => new JobdMaster({ host: 'h', port: 1, auth, log: SILENT }),
    { host: 'h', port: 1, workers: 0 },
  ],
  [
    'JobdWorker',
    () => new JobdWorker(daemon(), { host: 'h', port: 1, auth, name: 'n', master, log: SILENT }),
    { name: 'n', host: 'h', port: 1 },
  ],
  [
    'JobdSource',
    () => jobd({ database, targets: ['a'], master, log: SILENT }),
    { database: 'mysql://127.0.0.1:9/shop', table: 'jobs', targets: ['a'] },
  ],
  [
    'JobdInstance',
    () => new JobdInstance({ database, server: { kind: 'master', port: 9, password: SECRET } }, SILENT),
    { database: 'mysql://127.0.0.1:9/shop', table: 'jobs', listening: {} },
  ],
  [
    'JobdClient',
    () => new JobdInstance({ database }, SILENT).client,
    { table: 'mysql://127.0.0.1:9/shop jobs' },
  ],
];

describe.each(THINGS)('%s', (name, make, view, close) => {
  it('is shown with its name and server, without a password', async () => {
    const thing = make();
    expect(JSON.parse(JSON.stringify(thing))).toEqual(view);
    expect(inspect(thing, { breakLength: Infinity })).toBe(
      `${name} ${inspect(view, { breakLength: Infinity })}`,
    );
    expect(shown(thing).join()).not.toContain(SECRET);
    expect(shown(thing).join()).not.toContain(identity.key.split('\n')[2]);
    await close?.(thing as never);
  });
});

describe('what an app injects', () => {
  const apps = useApps();

  it('is shown with its server, without a password, also inside other objects', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Handlers {
      constructor(
        readonly jobs: GearMonkeyClient,
        readonly health: GearMonkeyHealth,
        @Inject(REQUEST) readonly job: RunningJob,
      ) {}
      @Worker('shown')
      shown() {
        return shown(this);
      }
    }
    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        GearMonkeyModule.forRoot({ connection: redis, name: 'other' }),
      ],
      providers: [Handlers],
    });
    const health = app.get(GearMonkeyHealth);
    await eventually(() => expect(JSON.stringify(health.check())).toContain('ECONNREFUSED'));
    const client = app.get(GearMonkeyClient);
    const [json] = (await client.call('shown', null, { timeout: '20s' })) as string[];
    expect(JSON.parse(json ?? '')).toEqual({
      jobs: { server: 'memory:' },
      health: { instances: app.get(GearMonkeyHealth).check() },
      job: { fn: 'shown', id: '1', attempts: 1 },
    });
    const other = app.get<object>(getInstanceToken('other'));
    expect(JSON.stringify(other)).toBe('{"name":"other","source":{"server":"127.0.0.1:1","functions":[]}}');
    expect([client, other, app.get(GearMonkeyHealth)].flatMap(shown).join()).not.toContain(SECRET);
  });

  it('is shown completely if it is a job, with any codec', async () => {
    const codec = { name: 'big', encode: (value: unknown) => String(value), decode: () => 7n };
    const big = defineJob('big', { codec });
    @Injectable()
    class Handlers {
      @Worker(big)
      big(input: unknown) {
        return input;
      }
    }
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    const client = (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
    const handle = await client.run(big, 7n, { blocking: true, timeout: '20s' });
    expect(JSON.parse(JSON.stringify(await handle.get()))).toMatchObject({
      fn: 'big',
      id: '1',
      input: '7',
      output: '7',
    });
    expect(inspect(await handle.get())).toMatch(/^Job \{/);
  });
});

describe('a definition', () => {
  it('is shown with its name, options and the library of its schemas', () => {
    const mail = defineJob('mail', { input: z.object({ to: z.email() }), timeout: '30s', codec: 'msgpack' });
    const view = { name: 'mail', codec: 'msgpack', timeout: 30_000, input: 'zod' };
    expect(JSON.parse(JSON.stringify(mail))).toEqual(view);
    expect(inspect(mail, { breakLength: Infinity })).toBe(
      `JobDefinition ${inspect(view, { breakLength: Infinity })}`,
    );
  });
});

describe('an error', () => {
  it('has name, code, message and fields in JSON', () => {
    const issues = [{ path: 'to', message: 'no address' }];
    expect(JSON.parse(JSON.stringify(new ValidationError('mail', 'input', issues)))).toEqual({
      name: 'ValidationError',
      code: 'VALIDATION_FAILED',
      message: `The input of "mail" doesn't match its schema: to: no address.`,
      fn: 'mail',
      what: 'input',
      issues,
    });
    const failed = new JobFailedError('mail', '7', { name: 'Error', message: 'no disk' });
    expect(JSON.parse(JSON.stringify(failed))).toMatchObject({ id: '7', error: { message: 'no disk' } });
  });

  it('shows of a refused option only the message, and of a cause its message', () => {
    const value: Record<string, unknown> = { password: SECRET, big: 1n };
    value['self'] = value;
    const error = new InvalidOptionError('tls', value, 'true or false');
    expect(error.value).toBe(value);
    const refused = new RefusedError(
      'EVAL',
      Object.assign(new Error('NOPERM'), { command: { args: [SECRET] } }),
    );
    expect(JSON.parse(JSON.stringify(refused))).toMatchObject({ code: 'REFUSED', cause: 'NOPERM' });
    const texts = [error, refused].flatMap((each) => [JSON.stringify(each), inspect(each, { depth: 20 })]);
    expect(texts.join()).not.toContain(SECRET);
  });
});
