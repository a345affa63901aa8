import { afterEach, describe, expect, it } from '@jest/globals';
import { ConfigurationError } from 'nestjs-gearmonkey';
import {
  JobdClient,
  JobdDaemon,
  JobdMaster,
  JobdModule,
  JobdWorker,
  initDatabase,
  jobd,
  type DaemonOptions,
} from 'nestjs-gearmonkey/jobd';
import { JqClient, JqModule, jq, startJqMaster, verify } from 'nestjs-gearmonkey/jq';
import { QlessClient, QlessModule, qless, type QlessJob } from 'nestjs-gearmonkey/qless';
import { ClientTable } from '../lib/jobd/nest/client-table.js';
import { NO_ROUTE } from '../lib/jobd/nest/request-routes.js';
import { SILENT } from '../lib/jobd/vocabulary/logging.js';
import { useApps } from './support/use-apps.js';
import { useRedis } from './support/use-redis.js';

/** Where nothing listens: an option that passes the check fails later, and otherwise. */
const connection = 'redis://127.0.0.1:1';
const master = 'http://127.0.0.1:1';
const database = 'sqlite:/nowhere/jobs.db';
const host = '127.0.0.1';

type Bad = Record<string, never>;
type Call = (bad: Bad) => unknown;
/** What takes options, how, a name that it does not know, and the message. */
type Row = readonly [what: string, take: Call, bad: object, message: string];

const refusesIn = async ([, take, bad, message]: Row) => {
  const taking = (async () => take(bad as Bad))();
  await expect(taking).rejects.toBeInstanceOf(ConfigurationError);
  await expect(taking).rejects.toThrow(message);
};

const daemonOptions: DaemonOptions = { database, launcher: '/bin/true', targets: new Map() };
const daemon = (options: object) => new JobdDaemon({ ...daemonOptions, ...options });
const server = { host, port: 0, auth: {}, log: SILENT };

const SYSTEMS: readonly Row[] = [
  [
    'qless()',
    (bad) => qless({ connection, queues: ['q'], ...bad }),
    { poping: 'x' },
    'Did you mean `popping`?',
  ],
  [
    'QlessClient',
    (bad) => new QlessClient({ connection, ...bad }),
    { timeOut: 1 },
    'Did you mean `timeout`?',
  ],
  [
    'jq()',
    (bad) => jq({ master, ...bad }),
    { secrets: 's' },
    'jq has no option `secrets`. Did you mean `secret`?',
  ],
  [
    'jq() to listen',
    (bad) => jq({ master, listen: { port: 0, ...bad } }),
    { hots: 'h' },
    'Did you mean `host`?',
  ],
  [
    'jq() with TLS',
    (bad) => jq({ master, listen: { port: 0, tls: { cert: '', key: '', ...bad } } }),
    { clientCA: 'x' },
    'listen.tls has no option `clientCA`. Did you mean `clientCa`?',
  ],
  ['JqClient', (bad) => new JqClient({ master, ...bad }), { tokn: 't' }, 'JqClient has no option `tokn`'],
  [
    'a master of JQ',
    (bad) => startJqMaster({ connection, ...bad }),
    { maxqueued: 1 },
    'Did you mean `maxQueued`?',
  ],
  [
    'a master of JQ, for a role',
    (bad) => startJqMaster({ connection, tokens: bad }),
    { workers: ['t'] },
    'tokens has no option `workers`. Did you mean `worker`?',
  ],
  [
    'a master of JQ, for pushes',
    (bad) => startJqMaster({ connection, callbacks: bad }),
    { allowed: [] },
    'callbacks has no option `allowed`. Did you mean `allow`?',
  ],
  [
    'verify',
    (bad) => verify(new Uint8Array(), {}, { url: '', secrets: [], window: 1, ...bad }),
    { nwo: 1 },
    'verify has no option `nwo`',
  ],
  ['jobd()', (bad) => jobd({ database, targets: ['a'], ...bad }), { poll: 1 }, 'jobd has no option `poll`'],
  [
    'jobd() for its master',
    (bad) => jobd({ database, targets: ['a'], master: { host, port: 1, ...bad } }),
    { pasword: 'p' },
    'master has no option `pasword`. Did you mean `password`?',
  ],
  [
    'jobd() for TLS of its master',
    (bad) => jobd({ database, targets: ['a'], master: { host, port: 1, tls: bad } }),
    { CA: 'p' },
    'master.tls has no option `CA`. Did you mean `ca`?',
  ],
  ['JobdDaemon', daemon, { leese: 1 }, 'JobdDaemon has no option `leese`. Did you mean `lease`?'],
  [
    'a target',
    (bad) => daemon({ targets: new Map([['low', { concurrency: 1, ...bad }]]) }),
    { timeOut: 1 },
    'targets.low has no option `timeOut`. Did you mean `timeout`?',
  ],
  [
    'JobdMaster',
    (bad) => new JobdMaster({ ...server, ...bad }),
    { pollAll: true },
    'has no option `pollAll`',
  ],
  [
    'a password',
    (bad) => new JobdMaster({ ...server, auth: bad }),
    { pasword: 'p' },
    'auth has no option `pasword`. Did you mean `password`?',
  ],
  [
    'JobdWorker',
    (bad) => new JobdWorker(daemon({}), { ...server, name: 'w', ...bad }),
    { msater: 1 },
    'JobdWorker has no option `msater`. Did you mean `master`?',
  ],
  [
    'the parts of a database',
    (bad) => jobd({ database: { dialect: 'mysql', host, database: 'd', ...bad }, targets: ['a'] }),
    { tlsCA: 'file' },
    'database has no option `tlsCA`. Did you mean `tlsCa`?',
  ],
  [
    'the parts of a file',
    (bad) => initDatabase({ dialect: 'sqlite', path: 'p', ...bad }, 'jobs', SILENT),
    { table: 't' },
    'database has no option `table`. It takes dialect, path.',
  ],
  [
    'the rows of JobdClient',
    (bad) => new JobdClient(new ClientTable(database, 'jobs', SILENT), NO_ROUTE, 'k').rows([1], bad),
    { intervall: 1 },
    'rows has no option `intervall`. Did you mean `interval`?',
  ],
  ['stop of JobdDaemon', (bad) => daemon({}).stop(bad), { timeOut: 1 }, 'Did you mean `timeout`?'],
];

describe('an option that does not exist', () => {
  it.each(SYSTEMS)('is refused by %s', async (...row) => {
    await refusesIn(row);
  });
});

describe('an option of a module that does not exist', () => {
  const apps = useApps();
  const worker = { launcher: '/bin/true', targets: {} };

  it.each([
    ['JqModule', (bad: Bad) => JqModule.forRoot({ master, ...bad }), { toke: 't' }, 'Did you mean `token`?'],
    ['QlessModule', (bad: Bad) => QlessModule.forRoot({ connection, ...bad }), { prefx: 'p' }, '`prefix`?'],
    ['JobdModule', (bad: Bad) => JobdModule.forRoot({ database, ...bad }), { tabel: 't' }, '`table`?'],
    [
      'JobdModule, for its server',
      (bad: Bad) => JobdModule.forRoot({ database, server: { kind: 'master', port: 1, ...bad } }),
      { passwort: 'p' },
      'server has no option `passwort`',
    ],
    [
      'JobdModule, for its worker',
      (bad: Bad) => JobdModule.forRoot({ database, worker: { ...worker, ...bad } }),
      { log: SILENT },
      'worker has no option `log`',
    ],
    [
      'JobdModule, for the port of its worker',
      (bad: Bad) => JobdModule.forRoot({ database, worker: { ...worker, listen: { port: 0, ...bad } } }),
      { password: 'p' },
      'worker.listen has no option `password`',
    ],
    [
      'JobdModule, for its master',
      (bad: Bad) =>
        JobdModule.forRootAsync({ useFactory: () => ({ database, master: { port: 0, ...bad } }) }),
      { password: 'p' },
      'master has no option `password`',
    ],
  ])('keeps the app from starting: %s', async (_, module, bad, message) => {
    const starting = apps.start({ imports: [module(bad as object as Bad)] });
    await expect(starting).rejects.toBeInstanceOf(ConfigurationError);
    await expect(starting).rejects.toThrow(message);
  });
});

describe('an option of a call that does not exist', () => {
  const used = useRedis();
  const clients: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  it('is refused by qless before anything is written', async () => {
    await used.redis.flushall();
    const client = new QlessClient({ connection: used.url, worker: 'w' });
    clients.push(client);
    const queue = client.queue('q');
    const rows: Row[] = [
      ['put', (bad) => queue.put('K', {}, bad), { prioritty: 1 }, 'put has no option `prioritty`'],
      ['put', (bad) => queue.put('K', {}, bad), { tag: [] }, 'Did you mean `tags`?'],
      [
        'putAbsent',
        (bad) => queue.putAbsent('j', 'K', {}, bad),
        { jid: 'k' },
        'putAbsent has no option `jid`',
      ],
      [
        'putMany',
        (bad) => queue.putMany([{ klass: 'K' }, { klass: 'K', ...bad }]),
        { dely: 1 },
        'putMany has no option `dely`. Did you mean `delay`?',
      ],
      [
        'recur',
        (bad) => queue.recur('K', {}, { interval: 1, ...bad }),
        { every: 1 },
        'recur has no option `every`',
      ],
      ['pop', (bad) => queue.pop(bad), { cuont: 1 }, 'pop has no option `cuont`. Did you mean `count`?'],
      ['popper', (bad) => client.popper(['q'], bad), { poping: 'x' }, 'Did you mean `popping`?'],
      ['a page', (bad) => queue.jids('waiting', bad), { limit: 1 }, 'page has no option `limit`'],
      ['checkConsistency', (bad) => client.checkConsistency(bad), { repair: true }, 'It takes resolve.'],
      ['completeMany', (bad) => client.jobs.completeMany([], bad), { nxt: 'q' }, 'Did you mean `next`?'],
    ];
    for (const row of rows) await refusesIn(row);
    await expect(used.redis.keys('*')).resolves.toEqual([]);

    await queue.put('K', {}, { jid: 'j' });
    const [job] = (await queue.pop()) as [QlessJob];
    await queue.recur('K', {}, { jid: 'r', interval: '1h' });
    const recurring = await client.recurring.get('r');
    const ofJobs: Row[] = [
      ['complete', (bad) => job.complete(bad), { depnds: [] }, 'Did you mean `depends`?'],
      ['retry', (bad) => job.retry(bad), { qeue: 'q' }, 'Did you mean `queue`?'],
      ['move', (bad) => job.move('q', bad), { jid: 'k' }, 'move has no option `jid`'],
      ['update', (bad) => recurring?.update(bad), { tags: [] }, 'update has no option `tags`'],
    ];
    for (const row of ofJobs) await refusesIn(row);
    await expect(client.jobs.get('j')).resolves.toMatchObject({ state: 'running' });
  });

  it('is refused by a client of JQ before anything is sent', async () => {
    const client = new JqClient({ master });
    clients.push(client);
    const rows: Row[] = [
      ['enqueue', (bad) => client.enqueue('f', {}, bad), { retries: 1 }, 'enqueue has no option `retries`'],
      ['call', (bad) => client.call('f', {}, bad), { timeOut: 1 }, 'Did you mean `timeout`?'],
      ['poll', (bad) => client.poll('1', bad), { wait: 1 }, 'poll has no option `wait`'],
    ];
    for (const row of rows) await refusesIn(row);
  });
});
