import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { freePort } from '../../support/free-port.js';
import { until } from '../../support/until.js';
import { runCli, useCli, type CliProcess } from './cli-process.js';

describe('a master, two workers and a MariaDB', () => {
  const cli = useCli();
  let server: MariaDbServer;
  let options = '';
  let masterPort = 0;
  let master: CliProcess;
  const workers: CliProcess[] = [];

  beforeAll(async () => {
    server = await MariaDbServer.start();
    const { port, user, password, database } = server;
    options = `mysql_host = 127.0.0.1\nmysql_port = ${port}\nmysql_user = ${user}\nmysql_password = "${password}"\nmysql_database = ${database}\nlauncher = echo out {id}\n`;
    const init = await runCli('jobd', [
      '--config',
      await cli.file(`host = a\nport = 1\n${options}`),
      '--init',
    ]);
    expect(init).toMatchObject({ code: 0, stderr: '' });
    masterPort = await freePort();
    const link = `master_host = 127.0.0.1\nmaster_port = ${masterPort}\nmaster_reconnect_timeout = 0.1\n`;
    // The workers come first: they try until the master is there.
    for (const target of ['1/low', '2/low']) {
      const { program } = await cli.serve(
        'jobd',
        `${options}${link}name = ${target}\n[targets]\nany = 2\n${target} = 1\n`,
      );
      workers.push(program);
    }
    ({ program: master } = await cli.serve('jobd-master', 'poke_throttle_interval = 0\n', masterPort));
  });
  afterAll(() => server.stop());

  const ask = (...args: string[]) =>
    runCli('jobctl', ['--master', '--host', '127.0.0.1', '--port', `${masterPort}`, ...args]);
  const registered = async (count: number) => {
    const { stdout } = await ask('--json', 'list-workers');
    return (JSON.parse(stdout || '[]') as unknown[]).length === count;
  };

  async function query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const connection = await server.connect();
    const [rows] = await connection.query(sql, values);
    await connection.end();
    return rows as Record<string, unknown>[];
  }
  const add = (...targets: string[]) =>
    query('INSERT INTO jobs (target, time_created) VALUES ?', [targets.map((target) => [target, 1])]);
  const done = async (count: number) => {
    const [row] = await query("SELECT COUNT(*) AS done FROM jobs WHERE status = 'done' AND result = 'ok'");
    return Number(row?.['done']) === count;
  };

  it('run the jobs of a poked target on any worker that serves it', async () => {
    await until(() => registered(2));
    await add('any', '1/low', '2/low', 'any', 'nobody');
    await expect(ask('poke', 'any', '1/low', '2/low')).resolves.toMatchObject({ code: 0, stdout: 'ok\n' });
    await until(() => done(4));
  });

  it('register again after the master was killed, and look for rows they missed', async () => {
    master.signal('SIGKILL');
    await master.ended();
    await add('any', '2/low');
    ({ program: master } = await cli.serve('jobd-master', '', masterPort));
    await until(() => registered(2));
    await until(() => done(6));
  });

  it('remember a poke until a worker serves its target', async () => {
    await ask('poke', 'nobody');
    const { port } = await cli.serve(
      'jobd',
      `${options}master_host = 127.0.0.1\nmaster_port = ${masterPort}\n[targets]\nother = 1\n`,
    );
    const added = await runCli('jobctl', [
      '--host',
      '127.0.0.1',
      '--port',
      `${port}`,
      'add-target',
      'nobody',
      '1',
    ]);
    expect(added.stdout).toBe('ok\n');
    await until(() => done(7));
  });

  it('give up a worker that hangs, and turn to the other', async () => {
    const [, hanging] = workers;
    hanging?.signal('SIGSTOP');
    const poll = ask('--json', 'list-workers');
    await expect(poll).resolves.toMatchObject({ stdout: expect.stringContaining('no answer within 5 s') });
    hanging?.signal('SIGKILL');
    await until(() => registered(2));
    await add('any');
    await ask('poke', 'any');
    await until(() => done(8));
  });
});
