import { describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { lastValueFrom, map, toArray } from 'rxjs';
import { GearMonkeyModule, UnrecoverableError, Worker, type RunningJob } from 'nestjs-gearmonkey';
import {
  JobdClient,
  JobdDaemon,
  JobdInstance,
  JobdMaster,
  JobdModule,
  jobd,
  type JobdSourceOptions,
  type JobRow,
} from 'nestjs-gearmonkey/jobd';
import { databaseAddress } from '../../../lib/jobd/storage/database-location.js';
import { seedTable, sqliteFile, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { gate } from '../../support/gate.js';
import { useApps } from '../../support/use-apps.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { eventually, until } from '../../support/until.js';
import { inFullTier } from '../../support/tier.js';

const HOST = '127.0.0.1';

@Injectable()
class Handlers {
  readonly seen: JobRow[] = [];

  @Worker('low', { concurrency: 2, retry: { attempts: 3, delay: 1, backoff: 'fixed' } })
  async low(row: JobRow, job: RunningJob): Promise<{ hello: unknown; attempt: number }> {
    this.seen.push(row);
    await job.update(1, 2);
    if (row['name'] === 'twice' && job.attempts === 1) throw new Error('not yet');
    if (row['name'] === 'never') throw new UnrecoverableError('no such name');
    return { hello: row['name'], attempt: job.attempts };
  }
}

describe('JobdModule', () => {
  const jobs = useJobTables(sqliteFile);
  const apps = useApps();

  const withName = async (): Promise<JobRows> => {
    const rows = await jobs.table();
    await rows.execute(`ALTER TABLE ${rows.table} ADD COLUMN name varchar(20)`);
    return rows;
  };
  const handling = (rows: JobRows, options: Partial<JobdSourceOptions> = {}) => {
    const source = jobd({ database: rows.url, table: rows.table, targets: ['low'], ...options });
    return GearMonkeyModule.forRoot({ source });
  };
  const module = (rows: JobRows, options: object = {}) =>
    JobdModule.forRoot({ database: rows.url, table: rows.table, ...options });

  it('refuses a handler whose target is not among the source’s', async () => {
    const rows = await jobs.table();
    const starting = apps.start({ imports: [handling(rows, { targets: ['high'] })], providers: [Handlers] });
    await expect(starting).rejects.toThrow('"low", which is not among the targets of jobd(): high');
  });

  it('refuses a column for the input that the table lacks', async () => {
    const rows = await jobs.table();
    const starting = apps.start({ imports: [handling(rows, { input: 'nowhere' })], providers: [Handlers] });
    await expect(starting).rejects.toThrow("has no column 'nowhere', which `input`");
  });

  it('refuses options that make no sense', () => {
    const database = 'sqlite:unused';
    expect(() => jobd({ database, targets: [] })).toThrow('`targets`');
    expect(() => jobd({ database, targets: ['a'], orphans: 'forget' as 'fail' })).toThrow('`orphans`');
    expect(() => jobd({ database, targets: ['a'], lease: 1 })).toThrow('`lease`');
  });

  it('has a client whose ping reaches the database, or says why it can’t', async () => {
    const rows = await jobs.table();
    const app = await apps.start({ imports: [module(rows)] });
    const server = databaseAddress(rows.url);
    await expect(app.get(JobdClient).ping()).resolves.toEqual({ connected: true, server });
    const away = await apps.start({
      imports: [JobdModule.forRoot({ database: 'mysql://127.0.0.1:1/jobs' })],
    });
    await expect(away.get(JobdClient).ping('5s')).resolves.toMatchObject({
      connected: false,
      server: 'mysql://127.0.0.1:1/jobs',
      problem: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('runs rows with handlers, and writes what a daemon would', async () => {
    const rows = await withName();
    const app = await apps.start({ imports: [handling(rows), module(rows)], providers: [Handlers] });
    const client = app.get(JobdClient);
    const [ada, twice, never] = [
      await client.add('low', { name: 'Ada' }),
      await client.add('low', { name: 'twice' }),
      await client.add('low', { name: 'never' }),
    ];
    await client.poke('low');
    const finals = client.rows([ada, twice, never], { interval: 50 }).pipe(toArray());
    const seen = await lastValueFrom(finals);
    expect(seen.filter(({ id, status }) => id === ada && status === 'done')).toEqual([
      expect.objectContaining({
        result: 'ok',
        return_code: 0,
        stdout: '{"hello":"Ada","attempt":1}',
        attempts: 1,
      }),
    ]);
    expect(await rows.row(twice)).toMatchObject({ result: 'ok', stdout: '{"hello":"twice","attempt":2}' });
    const failed = { status: 'done', result: 'fail', return_code: 1, sig: null, attempts: 1 };
    expect(await rows.row(never)).toMatchObject(failed);
    expect((await rows.row(never)).stderr).toMatch(/^no such name\n.*UnrecoverableError/s);
    expect(app.get(Handlers).seen[0]).toMatchObject({
      id: ada,
      target: 'low',
      name: 'Ada',
      status: 'waiting',
    });
    expect(await rows.owners()).toEqual([]);
  });

  it('emits a row only when it has changed', async () => {
    const rows = await jobs.table();
    const app = await apps.start({ imports: [module(rows)] });
    const client = app.get(JobdClient);
    const id = await client.add('low');
    const statuses: string[] = [];
    const ended = lastValueFrom(
      client.rows([id], { interval: 50 }).pipe(map(({ status }) => statuses.push(status))),
    );
    await eventually(() => expect(statuses).toHaveLength(1));
    await rows.execute(`UPDATE ${rows.table} SET status = 'running'`);
    await eventually(() => expect(statuses).toHaveLength(2));
    await rows.execute(`UPDATE ${rows.table} SET status = 'done'`);
    await ended;
    expect(statuses).toEqual(['waiting', 'running', 'done']);
    expect(() => client.rows([id], { interval: 1 })).toThrow('`interval`');
  });

  it('releases at shutdown jobs that have not ended', async () => {
    const rows = await jobs.table();
    @Injectable()
    class Endless {
      @Worker('low')
      run(_: unknown, job: RunningJob): Promise<void> {
        return new Promise((_resolve, reject) =>
          job.signal.addEventListener('abort', () => reject(job.signal.reason as Error)),
        );
      }
    }
    const source = jobd({ database: rows.url, table: rows.table, targets: ['low'] });
    const imports = [GearMonkeyModule.forRoot({ source, shutdownTimeout: 1 })];
    const app = await apps.start({ imports, providers: [Endless] });
    const id = await rows.add();
    source.poll();
    await rows.reach('running', [id]);
    await app.close();
    expect(await rows.row(id)).toMatchObject({ status: 'waiting', attempts: 0 });
    expect(await rows.owners()).toEqual([]);
  });

  it('has a worker of processes, which the client asks', async () => {
    const rows = await jobs.table();
    const { database: _, table: __, ...options } = rows.options();
    const worker = { ...options, targets: { low: 1 }, listen: { port: 0 } };
    const app = await apps.start({ imports: [module(rows, { worker })] });
    const client = app.get(JobdClient);
    const id = await client.add('low', { status: 'manual' });
    await rows.script(id, 'echo out; exit 3');
    const { jobs: ran, errors } = await client.runManual(id, 777);
    expect(ran.get(id)).toEqual({ result: 'fail', code: 3, signal: null, stdout: 'out\n', stderr: '' });
    expect([...errors]).toEqual([[777, 'job 777 not found']]);
    const waiting = await client.add('low');
    await rows.script(waiting, 'echo polled');
    await client.poke('low');
    await rows.reach('done', [waiting]);
    expect(app.get(JobdDaemon).status().targets).toEqual({
      low: { paused: false, concurrency: 1, length: 0 },
    });
  });

  it.each([
    ['JobdDaemon', 'worker', JobdDaemon],
    ['JobdMaster', 'master', JobdMaster],
  ] as const)('starts no app that injects %s without the option %s', async (name, option, part) => {
    const rows = await jobs.table();
    @Injectable()
    class Panel {
      constructor(@Inject(part) readonly part: unknown) {}
    }
    const starting = apps.start({ imports: [module(rows)], providers: [Panel] });
    await expect(starting).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: `Panel uses ${name}, but the options of JobdModule have no \`${option}\`. Give them one, or inject it with @Optional().`,
    });
  });

  it('injects undefined with @Optional() for a missing part, and refuses without it', async () => {
    const rows = await jobs.table();
    @Injectable()
    class Panel {
      constructor(
        @Optional() readonly daemon?: JobdDaemon,
        @Optional() readonly master?: JobdMaster,
      ) {}
    }
    const app = await apps.start({ imports: [module(rows, { master: { port: 0 } })], providers: [Panel] });
    expect(app.get(Panel)).toEqual({ daemon: undefined, master: app.get(JobdMaster) });
    expect(() => app.get(JobdDaemon)).toThrow('could not find JobdDaemon');
    expect(app.get(JobdInstance).daemon).toBeUndefined();
  });

  it('says what is missing if no server runs manual rows', async () => {
    const rows = await jobs.table();
    const client = (await apps.start({ imports: [module(rows)] })).get(JobdClient);
    const id = await client.add('low', { status: 'manual' });
    await expect(client.runManual(id)).rejects.toThrow('Set `server`');
    await expect(client.poke()).rejects.toThrow('`targets`');
    await expect(client.add('')).rejects.toThrow('`target`');
    await expect(client.add('low', { nowhere: 1 })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('closes what it opened when it cannot start', async () => {
    const rows = await jobs.table();
    const other = await apps.start({ imports: [module(rows, { master: { port: 0 } })] });
    const { master: port = 0 } = other.get(JobdInstance).listening;
    const starting = apps.start({ imports: [module(rows, { master: { port } })] });
    await expect(starting).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('creates the table where it is asked to', async () => {
    const server = await sqliteFile();
    const forRootAsync = JobdModule.forRootAsync({
      useFactory: () => ({ database: server.url, createTable: true }),
    });
    const app = await apps.start({ imports: [forRootAsync] });
    await expect(app.get(JobdClient).add('low')).resolves.toBe(1);
    await app.close();
    await server.stop();
  });
});

inFullTier(() => {
  describe('an app and a master', () => {
    const jobs = useJobTables(() => MariaDbServer.start());
    const apps = useApps();

    it.each(['processes', 'handlers'])('whose app drains, with %s: its polls go to another', async (kind) => {
      const rows = await jobs.table();
      const table = { database: rows.url, table: rows.table };
      const master = await apps.start({ imports: [JobdModule.forRoot({ ...table, master: { port: 0 } })] });
      const { master: port = 0 } = master.get(JobdInstance).listening;
      const address = { host: HOST, port };
      const held = gate();
      @Injectable()
      class Held {
        @Worker('low', { concurrency: 3 })
        run(): Promise<void> {
          return held.passed;
        }
      }
      const handlers = () => jobd({ ...table, targets: ['low'], master: address });
      const { database: _, table: __, ...options } = rows.options();
      const worker = { ...options, targets: { low: 3 }, master: address, drainTimeout: 60_000 };
      const draining = await apps.start(
        kind === 'handlers'
          ? { imports: [GearMonkeyModule.forRoot({ source: handlers() })], providers: [Held] }
          : { imports: [JobdModule.forRoot({ ...table, worker })] },
      );
      const first = await rows.add('until [ -e "$dir/go" ]; do sleep 0.05; done');
      const client = master.get(JobdClient);
      await eventually(() => expect(master.get(JobdMaster).workers).toBe(1));
      await client.poke('low');
      await rows.reach('running', [first]);
      const closing = draining.close();
      await eventually(async () => expect((await rows.execute('SELECT 1')).length).toBeGreaterThan(0));
      await apps.start({ imports: [JobdModule.forRoot({ ...table, worker: { ...worker, name: 'other' } })] });
      await eventually(() => expect(master.get(JobdMaster).workers).toBe(2));
      for (let turn = 0; turn < 10; turn++) {
        const id = await rows.add();
        await client.poke('low');
        await rows.reach('done', [id]);
      }
      held.open();
      await rows.put('go');
      await closing;
      await rows.reach('done', [first]);
    });

    it('run poked and manual rows with handlers, on the table of the original', async () => {
      const rows = await jobs.table(seedTable);
      const table = { database: rows.url, table: rows.table };
      const master = await apps.start({ imports: [JobdModule.forRoot({ ...table, master: { port: 0 } })] });
      const { master: port = 0 } = master.get(JobdInstance).listening;
      const source = jobd({ ...table, targets: ['low'], master: { host: HOST, port } });
      @Injectable()
      class Echo {
        @Worker('low', { retry: { attempts: 2 } })
        run({ id }: JobRow): string {
          if (id % 2 === 0) throw new Error(`${id} is even`);
          return `ran ${id}`;
        }
      }
      await apps.start({ imports: [GearMonkeyModule.forRoot({ source })], providers: [Echo] });
      await until(async () => {
        const id = await rows.add();
        await master.get(JobdClient).poke('low');
        await rows.reach('done', [id]);
        return true;
      });
      const client = (
        await apps.start({ imports: [JobdModule.forRoot({ ...table, server: { kind: 'master', port } })] })
      ).get(JobdClient);
      const ids = [
        await client.add('low', { status: 'manual' }),
        await client.add('low', { status: 'manual' }),
      ];
      const [odd = 0, even = 0] = ids.toSorted((one, other) => (other % 2) - (one % 2));
      const other = await client.add('elsewhere', { status: 'manual' });
      const { jobs: ran, errors } = await client.runManual(odd, even, other);
      expect(ran.get(odd)).toMatchObject({ result: 'ok', code: 0, stdout: `"ran ${odd}"` });
      expect(ran.get(even)).toMatchObject({
        result: 'fail',
        code: 1,
        stderr: expect.stringContaining('is even'),
      });
      expect(errors.get(other)).toBe("worker serving target 'elsewhere' not found");
      const waiting = await client.add('low');
      await client.poke('low');
      await rows.reach('done', [waiting]);
      // The table of the original has no columns for retries.
      const failing = (await rows.all()).find(
        ({ id, status }) => status === 'done' && id % 2 === 0 && id !== even,
      );
      if (failing) expect(failing.stderr).toContain("takes the columns 'attempts' and 'time_scheduled'");
    });
  });
});
