import { beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { runProgram } from '../../support/test-process.js';
import { eventually, until } from '../../support/until.js';
import { newRow } from '../wire/use-worker.js';
import { runCli, useCli, CliProcess } from './cli-process.js';

const jobctl = fileURLToPath(new URL('../../../dist/cli/jobctl.js', import.meta.url));
const table = (...lines: string[]) => `${lines.join('\n')}\n`;

/** Types the password on a terminal of its own and prints what the terminal showed. */
const TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b''
while b'password: ' not in shown:
    shown += os.read(terminal, 1024)
os.write(terminal, b'wrong\\x7f\\x7f\\x7f\\x7f\\x7fsecret\\r')
try:
    while True:
        part = os.read(terminal, 1024)
        if not part: break
        shown += part
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

describe('jobctl', () => {
  const cli = useCli();
  let database: string;
  let config = '';
  let master = 0;
  const workers: { port: number; program: CliProcess }[] = [];

  beforeAll(async () => {
    const made = await cli.table();
    database = made.path;
    config = `${made.config}launcher = sh launch {id}\nlauncher.cwd = ${await launcherFolder()}\n`;
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${config}`), '--init']);
    ({ port: master } = await cli.serve('jobd-master', 'poke_throttle_interval = 0\n'));
    for (const [index, targets] of ['any = 2\n1/low = 1\n', 'any = 3\n2/low = 1\n'].entries()) {
      const link = `master_host = 127.0.0.1\nmaster_port = ${master}\nmaster_reconnect_timeout = 0.1\nname = srv-${index + 1}\n`;
      workers.push(await cli.serve('jobd', `${config}${link}[targets]\n${targets}`));
    }
    await until(async () => {
      const { stdout } = await ask(master, '--master', '--json', 'list-workers');
      return (JSON.parse(stdout) as unknown[]).length === 2;
    });
  });

  /** Job 1xx succeeds, 2xx fails with 3, 3xx sleeps. */
  async function launcherFolder(): Promise<string> {
    const script = await cli.file('case $1 in 1??) echo out $1;; 2??) exit 3;; *) exec sleep 60;; esac\n');
    const folder = `${script}.d`;
    const { mkdir, rename } = await import('node:fs/promises');
    await mkdir(folder);
    await rename(script, `${folder}/launch`);
    return folder;
  }

  const ask = (port: number, ...args: string[]) =>
    runCli('jobctl', ['--port', `${port}`, '--host', '127.0.0.1', ...args]);
  const worker = (...args: string[]) => ask(workers[0]?.port ?? 0, ...args);
  const said = (stdout: string) => ({ code: 0, stdout, stderr: '' });

  async function addManual(...jobs: [id: number, target: string][]): Promise<void> {
    const opened = await Database.open({ dialect: 'sqlite', path: database }, SILENT);
    const rows = jobs.map(([id, target]) => newRow(id, target, 'manual'));
    await opened.insist(() => opened.attempt((queries) => queries.insertInto('jobs').values(rows).execute()));
    await opened.close();
  }

  describe('called wrongly', () => {
    it.each([
      [['fly'], "error: unknown command 'fly'"],
      [['--port', 'x', 'list-targets'], "error: option '--port <port>' argument 'x' is invalid"],
      [
        ['--log-level', 'loud', 'list-targets'],
        "error: option '--log-level <level>' argument 'loud' is invalid",
      ],
      [['--config', '/nonexistent', 'list-targets'], 'config parsing error: file /nonexistent not found'],
      [['poll'], "missing argument 'targets': name one or more, or say --all"],
      [['pause', '--all', 'low'], 'name targets or say --all, not both'],
      [['--master', 'poke'], "error: missing required argument 'targets'"],
      [['set-target-concurrency', 'low'], "error: missing required argument 'n'"],
      [['set-target-concurrency', 'low', 'x'], "'x' is not a concurrency of 1 or more"],
      [['run-manual', 'x'], "'x' is not a job's id"],
      [['--master', 'run-manual', '1'], "'1' must be a job's id and target, such as 12:low"],
      [['send-signal', 'LOUD', '1'], "'LOUD' is not a signal, such as TERM or 15"],
      [['poke', 'low'], "'poke' is not for a worker: call jobctl with --master"],
      [['--master', 'poll', 'low'], "'poll' is not for a master: call jobctl without --master"],
    ])('%j ends with 1 and a reason on stderr', async (args, reason) => {
      const port = args.includes('--port')
        ? []
        : ['--port', `${args.includes('--master') ? master : workers[0]?.port}`];
      const { code, stdout, stderr } = await runCli('jobctl', [...port, '--host', '127.0.0.1', ...args]);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(reason);
    });

    it('shows its help on stderr and ends with 1 without a command', async () => {
      const { code, stdout, stderr } = await runCli('jobctl', []);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain('set-target-concurrency <target> <n>');
    });

    it('ends with 1 if no server listens, or a request is refused', async () => {
      const { code, stderr } = await ask(1, 'list-targets');
      expect([code, stderr]).toEqual([1, expect.stringContaining("can't connect to 127.0.0.1:1: ")]);
      await expect(worker('poll', 'zzz')).resolves.toEqual({
        code: 1,
        stdout: '',
        stderr: "invalid target 'zzz'\n",
      });
    });
  });

  describe('to a worker', () => {
    it('lists targets byte for byte', async () => {
      await expect(worker('list-targets')).resolves.toEqual(
        said(
          table(
            'TARGET | CONCURRENCY | LENGTH | PAUSED',
            '------ | ----------- | ------ | ------',
            'any    | 2           | 0      | no    ',
            '1/low  | 1           | 0      | no    ',
          ),
        ),
      );
    });

    it('prints ok for each action, and the targets follow', async () => {
      for (const action of [
        ['add-target', 'new', '1'],
        ['set-target-concurrency', 'new', '7'],
        ['poll', 'any', 'new'],
        ['pause', 'new'],
      ]) {
        await expect(worker(...action)).resolves.toEqual(said('ok\n'));
      }
      const { stdout } = await worker('--json', 'list-targets');
      expect(JSON.parse(stdout)).toMatchObject({ new: { paused: true, concurrency: 7, length: 0 } });
      await eventually(async () =>
        expect((await ask(master, '--master', '--json', 'list-workers')).stdout).toContain('"new"'),
      );
      await expect(worker('continue', '--all')).resolves.toEqual(said('ok\n'));
      await expect(worker('remove-target', 'new')).resolves.toEqual(said('ok\n'));
      await eventually(async () =>
        expect((await ask(master, '--master', '--json', 'list-workers')).stdout).not.toContain('"new"'),
      );
    });

    it('shows its memory and the manual jobs with waiting clients', async () => {
      const { stdout } = await worker('memory-usage');
      const [header, rule = '', ...rows] = stdout.split('\n').slice(0, -1);
      expect(header).toMatch(/^WHAT {15}\| VALUE *$/);
      expect(rule).toMatch(/^-{18} \| -+$/);
      expect(rows.map((row) => row.replace(/\d+ *$/, 'N'))).toEqual([
        'rss                | N',
        'heapTotal          | N',
        'heapUsed           | N',
        'external           | N',
        'arrayBuffers       | N',
        'pendingJobPromises | N',
      ]);
      for (const row of rows) expect(row).toHaveLength(rule.length);
    });

    it('runs manual jobs, and ends with 2 where one failed or was not run', async () => {
      await addManual([101, 'any'], [201, 'any'], [102, 'any']);
      await expect(worker('run-manual', '101', '201', '999')).resolves.toEqual({
        code: 2,
        stdout: table(
          'JOB | RESULT  | CODE | SIGNAL | ERROR            ',
          '--- | ------- | ---- | ------ | -----------------',
          '101 | ok      | 0    |        |                  ',
          '201 | fail    | 3    |        |                  ',
          '999 | not run |      |        | job 999 not found',
        ),
        stderr: '',
      });
      await expect(worker('--json', 'run-manual', '102')).resolves.toEqual(
        said('{"jobs":{"102":{"result":"ok","code":0,"signal":null,"stdout":"out 102\\n","stderr":""}}}\n'),
      );
    });

    it('signals running jobs', async () => {
      await addManual([301, 'any']);
      const run = worker('run-manual', '301');
      await eventually(async () => expect((await worker('send-signal', '0', '301')).code).toBe(0));
      await expect(worker('send-signal', 'kill', '301', '999')).resolves.toEqual({
        code: 2,
        stdout: table(
          'JOB | DELIVERED | ERROR',
          '--- | --------- | -----',
          '301 | yes       |      ',
          '999 | no        |      ',
        ),
        stderr: '',
      });
      await expect(run).resolves.toMatchObject({
        code: 2,
        stdout: expect.stringContaining('fail   |      | SIGKILL'),
      });
    });
  });

  describe('to a master with two workers', () => {
    it('lists workers in cells of several lines', async () => {
      const { stdout } = await ask(master, '--master', 'list-workers');
      const lines = stdout.split('\n').slice(0, -1);
      expect(lines.slice(0, 2)).toEqual([
        'WORKER      | TARGETS | CONCURRENCY | LENGTH | PAUSED',
        '----------- | ------- | ----------- | ------ | ------',
      ]);
      expect(lines.slice(2).toSorted()).toEqual([
        '(127.0.0.1) | 1/low   | 1           | 0      | no    ',
        '(127.0.0.1) | 2/low   | 1           | 0      | no    ',
        'srv-1       | any     | 2           | 0      | no    ',
        'srv-2       | any     | 3           | 0      | no    ',
      ]);
    });

    it('pokes, pauses and continues', async () => {
      for (const action of [
        ['poke', 'any'],
        ['pause', '2/low'],
        ['continue', '--all'],
      ]) {
        await expect(ask(master, '--master', ...action)).resolves.toEqual(said('ok\n'));
      }
    });

    it('runs jobs where their targets are, and keeps the results of others when a worker is killed', async () => {
      await addManual([111, '1/low'], [311, '2/low']);
      const run = ask(master, '--master', 'run-manual', '111:1/low', '311:2/low', '5:nobody');
      await eventually(async () =>
        expect((await ask(master, '--master', 'send-signal', '0', '311:2/low')).code).toBe(0),
      );
      workers[1]?.program.signal('SIGKILL');
      const { code, stdout } = await run;
      expect(code).toBe(2);
      expect(stdout).toMatch(/^111 \| ok /m);
      expect(stdout).toMatch(
        /^311 \| not run .*\| worker 'srv-2': (connection closed by the peer|read ECONNRESET) *$/m,
      );
      expect(stdout).toMatch(/^5 {3}\| not run .*\| worker serving target 'nobody' not found *$/m);
    });
  });

  describe('with a password', () => {
    let port = 0;
    beforeAll(async () => {
      ({ port } = await cli.serve('jobd-master', 'password = secret\n'));
    });

    it('reads it from stdin, or from its configuration', async () => {
      const call = ['--master', '--port', `${port}`, '--host', '127.0.0.1'];
      await expect(
        runCli('jobctl', [...call, '--password', 'poke', 'x'], { input: 'secret\nmore' }),
      ).resolves.toEqual({
        code: 0,
        stdout: 'ok\n',
        stderr: 'Enter password: \n',
      });
      await expect(runCli('jobctl', [...call, '--password', 'poke', 'x'])).resolves.toEqual({
        code: 1,
        stdout: '',
        stderr: 'Enter password: \nno password was given\n',
      });
      await expect(runCli('jobctl', [...call, 'poke', 'x'])).resolves.toEqual({
        code: 1,
        stdout: '',
        stderr: 'invalid password\n',
      });
      const file = await cli.file(`master = true\nhost = 127.0.0.1\nport = ${port}\npassword = secret\n`);
      await expect(runCli('jobctl', ['--config', file, 'poke', 'x'])).resolves.toEqual(said('ok\n'));
    });

    it('asks for it without an echo on a terminal', async () => {
      const args = [
        jobctl,
        '--master',
        '--port',
        `${port}`,
        '--host',
        '127.0.0.1',
        '--password',
        'poke',
        'x',
      ];
      const { stdout } = await runProgram('/usr/bin/python3', ['-c', TERMINAL, process.execPath, ...args], {
        env: { ...process.env, NODE_OPTIONS: '', TERM: 'xterm' },
      });
      expect(stdout).toBe('Enter password: \r\nok\r\n');
    });

    it('prints a hash that a daemon accepts in place of the password', async () => {
      const { stdout, stderr } = await runCli('jobctl', ['hash-password'], { input: 'other\n' });
      expect(stderr).toBe(
        'Enter password: \njobctl: the password is short: it can be found by trying. Give it 16 characters\n',
      );
      expect(stdout).toMatch(/^scrypt:16384:8:1:[\w-]+:[\w-]+\n$/);
      const hashed = await cli.serve('jobd-master', `password_hash = ${stdout}`);
      const poke = (input: string) =>
        runCli(
          'jobctl',
          ['--master', '--port', `${hashed.port}`, '--host', '127.0.0.1', '--password', 'poke', 'x'],
          { input },
        );
      await expect(poke('other\n')).resolves.toMatchObject({ code: 0, stdout: 'ok\n' });
      await expect(poke('secret\n')).resolves.toMatchObject({ code: 1, stdout: '' });
    });
  });

  it('reports a daemon that disconnects before it answers', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end())).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await expect(ask(port, 'list-targets')).resolves.toEqual({
      code: 1,
      stdout: '',
      stderr: 'connection closed by the peer\n',
    });
    server.close();
  });
});
