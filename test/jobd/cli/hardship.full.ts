import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { existsSync } from 'node:fs';
import { readFile, rename, stat } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PeerLostError } from '../../../lib/jobd/vocabulary/errors.js';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { remoteRoute } from '../../../lib/jobd/nest/request-routes.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { eventually, until } from '../../support/until.js';
import { RawClient } from '../wire/raw-client.js';
import { newRow } from '../wire/use-worker.js';
import { runCli, useCli } from './cli-process.js';

const LAUNCHER = 'launcher = echo out {id}\n';
const STATUS = '[0,{"no":1,"type":"status"}]';

async function answers(port: number): Promise<void> {
  const client = await RawClient.connect(port);
  await expect(client.ask(STATUS)).resolves.toEqual([expect.stringContaining('memoryUsage')]);
  client.close();
}

describe.each(['jobd', 'jobd-master'] as const)('%s', (name) => {
  const cli = useCli();

  it('continues if its log is full and its console has no reader', async () => {
    const { config } = await cli.table();
    if (name === 'jobd')
      await runCli('jobd', [
        '--config',
        await cli.file(`host = a\nport = 1\n${config}${LAUNCHER}`),
        '--init',
      ]);
    const logs = 'log_file = /dev/full\nlog_level_file = debug\nlog_level_console = debug\n';
    const { port, program } = await cli.serve(name, `${config}${LAUNCHER}${logs}`);
    program.leave();
    for (let turn = 0; turn < 5; turn++) await answers(port);
    program.signal('SIGTERM');
    await expect(program.ended()).resolves.toMatchObject({ code: 0 });
  });
});

describe('jobd-master, as others see it', () => {
  const cli = useCli();

  it('has its own process title, reopens its log on SIGHUP, and warns if others may read its password', async () => {
    const log = await cli.file('');
    const options = `password = x\nlog_file = ${log}\nlog_level_file = debug\n`;
    const { port, program, path } = await cli.serve('jobd-master', options);
    await expect(readFile(`/proc/${program.pid}/cmdline`, 'utf8')).resolves.toMatch(/^jobd-master/);
    expect(await readFile(log, 'utf8')).toContain(`${path} contains a password, and all users can read it`);
    await rename(log, `${log}.1`);
    program.signal('SIGHUP');
    await until(() => existsSync(log));
    const client = await RawClient.connect(port);
    await eventually(async () => expect(await readFile(log, 'utf8')).toContain('connected'));
    client.close();
    program.signal('SIGTERM');
    await expect(program.ended()).resolves.toMatchObject({ code: 0 });
  });

  it('ends in good order on SIGHUP where it has no log file', async () => {
    const { program } = await cli.serve('jobd-master', '');
    program.signal('SIGHUP');
    await expect(program.ended()).resolves.toMatchObject({ code: 0 });
  });

  it('creates an SQLite file that other users may not read', async () => {
    const { config, path } = await cli.table();
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${config}${LAUNCHER}`), '--init']);
    expect((await stat(path)).mode & 0o007).toBe(0);
  });
});

describe('jobd whose files may not grow', () => {
  const cli = useCli();

  it('keeps results that its database refuses, and writes them when there is space', async () => {
    const { config, path } = await cli.table();
    const script = await cli.file('head -c 300000 /dev/zero | tr "\\0" x\n');
    const launcher = `launcher = /bin/sh ${script}\n`;
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${config}${launcher}`), '--init']);
    const database = await Database.open({ dialect: 'sqlite', path }, SILENT);
    const ids = [1, 2, 3];
    const rows = ids.map((id) => newRow(id, 'low', 'waiting'));
    await database.attempt((queries) => queries.insertInto('jobs').values(rows).execute());
    const { port, program } = await cli.serve('jobd', `${config}${launcher}lease = 2\n`);
    await program.limit('fsize', 200_000);
    const served = await RawClient.connect(port);
    await served.ask('[0,{"no":1,"type":"add-target","data":{"target":"low","concurrency":3}}]');
    await eventually(() => expect(program.stdout).toContain("The database doesn't answer"), {
      timeout: 40_000,
    });
    await answers(port);
    await program.limit('fsize', 'unlimited');
    const isDone = async () => {
      const found = await database.insist(() =>
        database.attempt((queries) => queries.selectFrom('jobs').selectAll().execute()),
      );
      return found.every(({ status, result }) => status === 'done' && result === 'ok');
    };
    await until(isDone, { timeout: 40_000, interval: 100 });
    await database.close();
    served.close();
    expect(await readFile(path)).toBeDefined();
  });
});

describe('a client whose server is silent', () => {
  let mute: Server;
  beforeAll(async () => {
    mute = createServer((socket) => socket.resume().on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(mute, 'listening');
  });
  afterAll(() => void mute.close());

  it('disconnects after an unanswered ping', async () => {
    const { port } = mute.address() as AddressInfo;
    const route = remoteRoute({ kind: 'master', port }, 50);
    await expect(route.poke(['low'])).rejects.toThrow(PeerLostError);
    await expect(route.runManual([{ id: 1, target: 'low' }])).rejects.toThrow('no answer to a ping');
  });
});
