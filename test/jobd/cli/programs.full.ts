import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { eventually, until } from '../../support/until.js';
import { RawClient } from '../wire/raw-client.js';
import { newRow } from '../wire/use-worker.js';
import { runCli, useCli } from './cli-process.js';

const LAUNCHER = 'launcher = echo out {id}\n';
const request = (type: string, data?: unknown, password?: string) =>
  JSON.stringify([0, { no: 1, type, data, password }]);

describe.each(['jobd', 'jobd-master'] as const)('%s', (name) => {
  const cli = useCli();
  let taken: Server;
  let port: number;
  beforeAll(async () => {
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    port = (taken.address() as AddressInfo).port;
  });
  afterAll(() => void taken.close());

  it('ends with 1, and stderr has what is wrong with its configuration', async () => {
    const wrong = await cli.file('host = 127.0.0.1\n');
    await expect(runCli(name, ['--config', wrong])).resolves.toEqual({
      code: 1,
      stdout: '',
      stderr: "config parsing error: 'port' is not defined\n",
    });
    await expect(runCli(name, ['--config', '/nonexistent.conf'])).resolves.toEqual({
      code: 1,
      stdout: '',
      stderr: 'config parsing error: file /nonexistent.conf not found\n',
    });
    const { code, stderr } = await runCli(name, ['--colour']);
    expect([code, stderr]).toEqual([1, "error: unknown option '--colour'\n"]);
  });

  it('ends with 1 when its port is in use', async () => {
    const { path, config } = await cli.table();
    const file = await cli.file(`host = 127.0.0.1\nport = ${port}\n${config}${LAUNCHER}`);
    if (name === 'jobd') await runCli('jobd', ['--config', file, '--init']);
    const { code, stderr } = await runCli(name, ['--config', file]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('EADDRINUSE')]);
    expect(path).not.toBe('');
  });

  it('has help and a version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    await expect(runCli(name, ['--version'])).resolves.toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
    const { code, stdout } = await runCli(name, ['--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`/etc/${name}.conf`)]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s', async (signal) => {
    const { config } = await cli.table();
    if (name === 'jobd') {
      const init = await cli.file(`host = a\nport = 1\n${config}${LAUNCHER}`);
      await runCli('jobd', ['--config', init, '--init']);
    }
    const { program } = await cli.serve(name, config + LAUNCHER);
    program.signal(signal);
    await expect(program.ended()).resolves.toMatchObject({ code: 0, stderr: '' });
  });
});

describe('jobd', () => {
  const cli = useCli();

  it('ends with 1 when its database is down, its table is missing, or its log can not be written', async () => {
    const server = 'host = 127.0.0.1\nport = 0\n';
    const down =
      'mysql_host = 127.0.0.1\nmysql_port = 1\nmysql_user = me\nmysql_password = hidden\nmysql_database = db\n';
    const { config } = await cli.table();
    const run = async (text: string) =>
      runCli('jobd', ['--config', await cli.file(server + LAUNCHER + text)]);
    const refused = await run(down);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') });
    expect(refused.stderr).not.toContain('hidden');
    await expect(run(config)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("doesn't exist"),
    });
    await expect(run(`${config}log_file = /nonexistent/log`)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("config parsing error: 'log_file' can't be written"),
    });
  });

  it('--init creates the table, once', async () => {
    const { config } = await cli.table();
    const file = await cli.file(`host = a\nport = 1\n${config}${LAUNCHER}`);
    const init = () => runCli('jobd', ['--config', file, '--init']);
    await expect(init()).resolves.toEqual({ code: 0, stdout: "The table 'jobs' is created.\n", stderr: '' });
    await expect(init()).resolves.toEqual({
      code: 0,
      stdout: "The table 'jobs' is there already.\n",
      stderr: '',
    });
  });

  it('--demo runs jobs without any server', async () => {
    const { code, stdout, stderr } = await runCli('jobd', ['--demo']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('6  | slow   | done   | ok     | 0           | hello from job 6');
    expect(stdout).toContain('8   | ok     | 0    |');
  });
});

describe('jobd on SIGTERM', () => {
  const cli = useCli();

  it('refuses new work, finishes running work, and ends with 0', async () => {
    const { path, config } = await cli.table();
    const options = `${config}launcher = sleep 60\nlog_level_console = info\n`;
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${options}`), '--init']);
    const database = await Database.open({ dialect: 'sqlite', path }, SILENT);
    await database.attempt((queries) =>
      queries
        .insertInto('jobs')
        .values([newRow(1, 'low', 'manual')])
        .execute(),
    );
    await database.close();
    const { port, program } = await cli.serve('jobd', `${options}[targets]\nlow = 1\n`);
    const [waiting, other] = [await RawClient.connect(port), await RawClient.connect(port)];
    waiting.send(request('run-manual', { ids: [1] }));
    const signal = (name: number | string) => other.ask(request('send-signal', { jobs: { 1: name } }));
    const delivered = '[1,{"no":1,"data":{"1":true}}]';
    await eventually(async () => expect(await signal(0)).toContain(delivered));

    program.signal('SIGTERM');
    const refused = '[1,{"no":1,"error":"this worker is shutting down"}]';
    await eventually(async () => expect(await other.ask(request('poll'))).toContain(refused));
    await expect(other.ask(request('status'))).resolves.toEqual([expect.stringContaining('"length":1')]);
    await expect(RawClient.connect(port)).rejects.toThrow('ECONNREFUSED');
    await expect(signal('SIGKILL')).resolves.toEqual([delivered]);
    await expect(waiting.ended()).resolves.toEqual([
      '[1,{"no":1,"data":{"jobs":{"1":{"result":"fail","code":null,"signal":"SIGKILL","stdout":"","stderr":""}}}}]',
    ]);
    await expect(program.ended()).resolves.toMatchObject({ code: 0, stderr: '' });
  });
});

describe('the logs', () => {
  const cli = useCli();
  const SECRET = 'f0rb1dden';

  it('hold no password at the lowest level, neither those configured nor those sent', async () => {
    const levels = 'log_level_console = trace\nlog_level_file = trace\n';
    const masterLog = await cli.file('');
    const master = await cli.serve(
      'jobd-master',
      `password = ${SECRET}-own\n${levels}log_file = ${masterLog}\n`,
    );
    const { config } = await cli.table();
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${config}${LAUNCHER}`), '--init']);
    const log = await cli.file('');
    const worker = await cli.serve(
      'jobd',
      `${config}${LAUNCHER}${levels}log_file = ${log}\npassword = ${SECRET}-own\nmysql_password = ${SECRET}\n` +
        `master_host = 127.0.0.1\nmaster_port = ${master.port}\nunknown_secret = ${SECRET}\n[targets]\nlow = 1\n`,
    );
    await eventually(async () => expect(await readFile(masterLog, 'utf8')).toContain('serves 1 targets'));
    for (const { port } of [worker, master]) {
      const right = await RawClient.connect(port);
      await right.ask(request('status', { x: SECRET }, `${SECRET}-own`));
      right.send(`not JSON ${SECRET}`, `[0,{"password":"${SECRET}"}]`, `["${SECRET}"]`, '[2]');
      await eventually(() => expect(right.received).toContain('[3]'));
      right.close();
      const wrong = await RawClient.connect(port);
      wrong.send(request('poll', undefined, `${SECRET}-wrong`));
      await wrong.ended();
    }
    await runCli(
      'jobctl',
      ['--port', `${worker.port}`, '--log-level', 'trace', '--password', 'poll', '--all'],
      {
        input: `${SECRET}-own\n`,
      },
    ).then(({ stdout, stderr }) => {
      expect(stdout).toBe('ok\n');
      expect(stderr).toMatch(/^Enter password: \n\S+ DEBUG \[jobctl\] request \d+ poll to 127.0.0.1:\d+\n$/);
    });
    const texts = [
      worker.program.stdout + worker.program.stderr,
      master.program.stdout + master.program.stderr,
      await readFile(log, 'utf8'),
      await readFile(masterLog, 'utf8'),
    ];
    for (const text of texts) {
      expect(text).toContain('invalid password from 127.0.0.1');
      expect(text).toContain('malformed message');
      expect(text).not.toContain(SECRET);
    }
    expect(texts[0]).toContain("the option 'unknown_secret' is unknown");
  });
});

describe('metrics and health', () => {
  const cli = useCli();

  it('are served where a port is configured, for daemon and master', async () => {
    const { config, path } = await cli.table();
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${config}${LAUNCHER}`), '--init']);
    const ports = async (program: { stdout: string }) => {
      const found = await until(() => /http:\/\/127.0.0.1:(\d+)/.exec(program.stdout));
      return found[1];
    };
    const http = 'http_port = 0\nlog_level_console = info\n';
    const worker = await cli.serve('jobd', `${config}${LAUNCHER}${http}[targets]\nlow = 2\n`);
    const master = await cli.serve('jobd-master', http);
    const [one, two] = [await ports(worker.program), await ports(master.program)];
    const get = async (port: string | undefined, path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return `${response.status} ${await response.text()}`;
    };
    await expect(get(one, '/health')).resolves.toBe(
      `200 {"status":"ok","connected":true,"server":"sqlite:${path}"}\n`,
    );
    await expect(get(two, '/health')).resolves.toBe('200 {"status":"ok","connected":true,"workers":0}\n');
    await expect(get(one, '/metrics')).resolves.toContain('jobd_target_concurrency{target="low"} 2\n');
    await expect(get(two, '/metrics')).resolves.toContain('jobd_master_workers 0\n');
    await expect(get(one, '/other')).resolves.toMatch(/^404/);

    const database = await Database.open({ dialect: 'sqlite', path }, SILENT);
    const rows = [1, 2].map((id) => newRow(id, 'low', 'manual'));
    await database.attempt((queries) => queries.insertInto('jobs').values(rows).execute());
    await database.close();
    await runCli('jobctl', ['--host', '127.0.0.1', '--port', `${worker.port}`, 'run-manual', '1', '2']);
    const metrics = await get(one, '/metrics');
    expect(metrics).toContain(
      'gearmonkey_jobs_finished_total{system="jobd",fn="low",outcome="succeeded"} 2\n',
    );
    expect(metrics).toContain('gearmonkey_job_run_seconds_count{system="jobd",fn="low"} 2\n');
    expect(metrics).toContain('gearmonkey_connected{name="database"} 1\n');
  });
});

describe.each(['jobd', 'jobd-master'] as const)('%s without a password', (name) => {
  const cli = useCli();
  const LOG = 'log_level_console = info\n';

  async function configured(host: string, more: string): Promise<string> {
    const { config } = await cli.table();
    const path = await cli.file(`host = ${host}\nport = 0\n${config}${LAUNCHER}${LOG}${more}`);
    if (name === 'jobd') await runCli('jobd', ['--config', path, '--init']);
    return path;
  }

  it.each(['0.0.0.0', '::', '192.0.2.1'])('does not listen on %j', async (host) => {
    const ended = await runCli(name, ['--config', await configured(host, '')]);
    expect(ended).toMatchObject({
      code: 1,
      stderr: `config parsing error: 'host' is ${host}, which others reach, and there is no 'password': set one, or 'password_hash', or 'allow_no_password = true' where a firewall keeps them out\n`,
    });
  });

  it('logs, if configured, whether it asks for a password', async () => {
    const said = async (host: string, more: string) => {
      const program = cli.start(name, ['--config', await configured(host, more)]);
      const { stdout } = program;
      await until(() => /asks? (.*)\n/.test(program.stdout), { message: `It says nothing of it: ${stdout}` });
      program.signal('SIGTERM');
      await program.ended();
      return program.stdout;
    };
    const none = 'asks for no password: anyone who reaches this port may do everything';
    expect(await said('0.0.0.0', 'allow_no_password = true\n')).toMatch(new RegExp(`WARN .* ${none}`));
    expect(await said('127.0.0.1', '')).toMatch(new RegExp(`INFO .* ${none}`));
    expect(await said('0.0.0.0', 'password = x\n')).toMatch(/INFO .* asks for a password/);
    const local = 'password = x\nalways_allow_localhost = true\n';
    expect(await said('127.0.0.1', local)).toMatch(/INFO .* asks for a password, but not this machine/);
  });
});
