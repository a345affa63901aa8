import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDaemonConfig } from '../../../lib/jobd/config/daemon-config.js';
import { readJobctlConfig } from '../../../lib/jobd/config/jobctl-config.js';
import { OptionReader } from '../../../lib/jobd/config/option-reader.js';
import { readMasterConfig } from '../../../lib/jobd/config/master-config.js';

const SERVER = 'host = 127.0.0.1\nport = 7080\n';
const MYSQL = 'mysql_host = db\nmysql_user = jobs\nmysql_database = app\n';
const LAUNCHER = 'launcher = run {id}\n';
const MINIMAL = SERVER + MYSQL + LAUNCHER;

let folder: string;
let files = 0;
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'jobd-config-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(text: string): Promise<string> {
  const path = join(folder, `${++files}.conf`);
  await writeFile(path, text);
  return path;
}
/** A template, with every option in force. */
async function allOptions(name: string): Promise<string> {
  const text = await readFile(new URL(`../../../docs/systems/jobd/${name}`, import.meta.url), 'utf8');
  const options = text
    .replace(/^;(?=[\w.]+ = )/gm, '')
    .replace(/^(tls_\w+|\w+_tls_ca|password_hash) = .*$/gm, '');
  return file(options.replace(/^database = postgres.*$/m, ''));
}

const daemon = async (text: string) => readDaemonConfig(await file(text));
const master = async (text: string) => readMasterConfig(await file(text));

describe('the configuration of jobd', () => {
  it.each([
    ['', "'host' is not defined"],
    ['host =\nport = 1', "'host' is not defined"],
    ['host = a', "'port' is not defined"],
    ['host = a\nport = x', "'port' must be an integer"],
    ['host = a\nport = 70.5', "'port' must be an integer"],
    ['host = a\nport = 70000', "'port' must be between 0 and 65535"],
    [SERVER, "'mysql_host' is not defined"],
    [`${SERVER}mysql_host = db`, "'mysql_user' is not defined"],
    [SERVER + MYSQL, "'launcher' is not defined"],
    [`${MINIMAL}mysql_port = x`, "'mysql_port' must be an integer"],
    [`${MINIMAL}mysql_fetch_limit = -1`, "'mysql_fetch_limit' must be between 0 and 1000000"],
    [`${MINIMAL}log_level_file = loud`, "'log_level_file' must be one of trace, debug, info, warn, error"],
    [`${MINIMAL}orphans = adopt`, "'orphans' must be one of requeue, fail"],
    [`${MINIMAL}posix_spawn = yes`, "'posix_spawn' must be one of auto, false"],
    [`${MINIMAL}drain_timeout = soon`, "'drain_timeout' must be a number"],
    [`${MINIMAL}tls_cert = /a`, "'tls_cert' and 'tls_key' need each other"],
    [
      `${MINIMAL}password_hash = secret`,
      "'password_hash' must be a line that `jobctl hash-password` printed",
    ],
    [`${MINIMAL}[targets]\nlow = many`, "value of target 'low' must be a number"],
    [`${MINIMAL}[targets]\nlow`, "value of target 'low' must be a number"],
    [`${MINIMAL}[targets]\nlow =`, "value of target 'low' must be a number"],
    [`${MINIMAL}[targets]\nlow = 0`, "target 'low' has invalid value: it must be a whole number, 1 or more"],
    [`${MINIMAL}[targets]\nlow = -1`, "target 'low' has invalid value: it must be a whole number, 1 or more"],
    [
      `${MINIMAL}[targets]\nlow = 1.5`,
      "target 'low' has invalid value: it must be a whole number, 1 or more",
    ],
    [`${MINIMAL}[targets]\nnull = 1`, "word 'null' is reserved, please don't use it as a target name"],
  ])('%j is refused: %s', async (text, error) => {
    await expect(daemon(text)).rejects.toMatchObject({ code: 'CONFIG', message: error });
  });

  it.each(
    ['password', 'password_hash', 'master_password'].flatMap((name) =>
      ['#hunter2', ';hunter2', 'null', '', '""', "''", undefined].map((value) =>
        value === undefined ? [name, name] : [name, `${name} = ${value}`],
      ),
    ),
  )('%s that is there and empty is refused: %j', async (name, line) => {
    const message = `'${name}' is there but empty: give it a value, in quotes where it has ; or #, or remove it`;
    for (const read of name === 'master_password' ? [daemon] : [daemon, master])
      await expect(read(`${MINIMAL}${line}`)).rejects.toMatchObject({ code: 'CONFIG', message });
  });

  it('names unknown options of every section, never their values', async () => {
    const text = `${MINIMAL}password : hunter2\nhost: secret\n[targets]\nlow = 1\n[timeouts]\nlwo = 2\n[x]\npassword = hunter2`;
    const { unknown } = await daemon(text);
    expect(unknown).toEqual(['password', 'host', 'lwo in [timeouts]', 'password in [x]']);
    expect((await master(`${SERVER}[auth]\npassword = hunter2`)).unknown).toEqual(['password in [auth]']);
  });

  it('accepts a delay of retries without a number, which rows may have', async () => {
    const { daemon: core } = await daemon(`${MINIMAL}retry_delay = 60\n[targets]\nlow = 1`);
    expect(core.targets.get('low')?.retry).toEqual({ delay: 60_000 });
  });

  it('names a file that is missing, and never a URL, which may hold a password', async () => {
    expect(() => readDaemonConfig('/nonexistent/jobd.conf')).toThrow('file /nonexistent/jobd.conf not found');
    const wrong = daemon(`${SERVER + LAUNCHER}database = oracle://me:secret@db/app`);
    await expect(wrong).rejects.toThrow('`database` must be a URL');
    await expect(wrong).rejects.not.toThrow('secret');
  });

  it('has the defaults of the document', async () => {
    const { daemon: core, ...config } = await daemon(MINIMAL);
    expect(config).toEqual({
      host: '127.0.0.1',
      port: 7080,
      name: hostname(),
      auth: { allowLocalhost: false, allowNoPassword: false },
      log: { fileLevel: 'warn', consoleLevel: 'warn' },
      unknown: [],
    });
    expect(core).toEqual({
      name: hostname(),
      database: {
        dialect: 'mysql',
        host: 'db',
        port: 3306,
        user: 'jobs',
        password: '',
        database: 'app',
        tls: false,
      },
      launcher: 'run {id}',
      env: {},
      targets: new Map(),
    });
  });

  it('takes every option', async () => {
    const { daemon: core, ...config } = await daemon(
      `${SERVER}${LAUNCHER}password = "s;cret"
always_allow_localhost = 1
name = srv-1
master_host = master
master_port = 7081
master_reconnect_timeout = 3
log_file = /var/log/jobd.log
log_level_file = info
log_level_console = error
mysql_host = db
mysql_port = 3307
mysql_user = jobs
mysql_password = "null"
mysql_database = app
mysql_table = work
mysql_fetch_limit = 0
launcher.cwd = /srv
launcher.env.APP_ENV = prod
launcher.env.EMPTY =
max_output_buffer = 1024
posix_spawn = false
drain_timeout = 1.5
poll_interval = 60
orphans = requeue
job_timeout = 10
retry_attempts = 3
retry_delay = 5
http_port = 9100
colour = blue
[targets]
low = 5
1/high = 2
constructor = 1
[timeouts]
low = 2`,
    );
    expect(config).toMatchObject({
      name: 'srv-1',
      auth: { password: 's;cret', allowLocalhost: true },
      master: { host: 'master', port: 7081, password: 's;cret', reconnectTimeout: 3000 },
      log: { file: '/var/log/jobd.log', fileLevel: 'info', consoleLevel: 'error' },
      http: { host: '127.0.0.1', port: 9100 },
      unknown: ['colour'],
    });
    const retry = { attempts: 3, delay: 5000 };
    expect(core).toMatchObject({
      database: { port: 3307, password: 'null' },
      table: 'work',
      fetchLimit: 0,
      cwd: '/srv',
      env: { APP_ENV: 'prod', EMPTY: '' },
      maxOutputBuffer: 1024,
      posixSpawn: false,
      drainTimeout: 1500,
      pollInterval: 60_000,
      orphans: 'requeue',
    });
    expect([...core.targets]).toEqual([
      ['low', { concurrency: 5, timeout: 2000, retry }],
      ['1/high', { concurrency: 2, timeout: 10_000, retry }],
      ['constructor', { concurrency: 1, timeout: 10_000, retry }],
    ]);
  });

  it('takes a database URL in place of the mysql options', async () => {
    const { daemon: core } = await daemon(`${SERVER + LAUNCHER}database = sqlite:/var/jobs.db\ntable = work`);
    expect(core).toMatchObject({ database: { dialect: 'sqlite', path: '/var/jobs.db' }, table: 'work' });
  });

  it.each([
    ['1', true],
    ['true', true],
    ['yes', false],
    ['0', false],
    ['false', false],
    ['on', false],
  ])('always_allow_localhost = %s is %s', async (value, allowed) => {
    const { auth } = await daemon(`${MINIMAL}always_allow_localhost = ${value}`);
    expect(auth.allowLocalhost).toBe(allowed);
  });

  it('has a master only with both host and port', async () => {
    for (const half of ['master_host = a', 'master_port = 7081']) {
      expect((await daemon(MINIMAL + half)).master).toBeUndefined();
    }
  });
});

describe('the configuration of jobd-master', () => {
  it.each([
    ['port = 1', "'host' is not defined"],
    [`${SERVER}ping_interval = 0`, "'ping_interval' must be between 1 and 86400"],
    [`${SERVER}poke_throttle_interval = often`, "'poke_throttle_interval' must be a number"],
  ])('%j is refused: %s', async (text, error) => {
    await expect(master(text)).rejects.toThrow(error);
  });

  it('has the documented defaults, and accepts every option', async () => {
    await expect(master(SERVER)).resolves.toMatchObject({ pollAllWorkers: false });
    const all = `${SERVER}ping_interval = 5\npoke_throttle_interval = 0\npoll_all_workers = true\npassword = x`;
    await expect(master(all)).resolves.toMatchObject({
      auth: { password: 'x' },
      pingInterval: 5000,
      pokeThrottleInterval: 0,
      pollAllWorkers: true,
      unknown: [],
    });
  });
});

describe('the configuration of jobctl', () => {
  it('may be missing unless it was named', () => {
    expect(readJobctlConfig('/nonexistent', true)).toEqual({ master: false, logLevel: 'warn' });
    expect(() => readJobctlConfig('/nonexistent', false)).toThrow('file /nonexistent not found');
  });

  it('has master, host, port, password and log_level', async () => {
    const path = await file('master = true\nhost = h\nport = 1\npassword = p\nlog_level = debug\ntls = true');
    expect(readJobctlConfig(path, false)).toEqual({
      master: true,
      host: 'h',
      port: 1,
      password: 'p',
      tls: {},
      logLevel: 'debug',
    });
  });
});

describe('the tables of options in docs/systems/jobd-reference.md', () => {
  /** The options that are asked for while files are read that set every option of the templates. */
  async function known(read: (path: string) => unknown, template: string): Promise<string[]> {
    const accept = jest.spyOn(OptionReader.prototype, 'accept');
    try {
      read(await allOptions(template));
      return accept.mock.calls.flat().sort();
    } finally {
      accept.mockRestore();
    }
  }

  async function documented(heading: string): Promise<string[]> {
    const text = await readFile(new URL('../../../docs/systems/jobd-reference.md', import.meta.url), 'utf8');
    const [, section = ''] = text.split(`\n### ${heading}\n`);
    const [table = ''] = section.split(/\n#/);
    const firstCells = table.split('\n').flatMap((line) => /^\| (`.*?) +\| /.exec(line)?.[1] ?? []);
    return firstCells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)).sort();
  }

  it.each([
    ['Options of jobd', readDaemonConfig, 'jobd.conf.example'],
    ['Options of jobd-master', readMasterConfig, 'jobd-master.conf.example'],
    ['Options of jobctl', (path: string) => readJobctlConfig(path, false), 'jobctl.conf.example'],
  ])('%s: lists exactly the options that the program reads', async (heading, read, template) => {
    // Those of sections, and those whose names the user completes, are not read by name.
    const named = (await documented(heading)).filter((name) => !/[[…]/.test(name));
    const names = new Set(await known(read, template));
    expect(named).toEqual(
      [...names].filter((name) => !/^(launcher\.env\.|low|normal|high)/.test(name)).sort(),
    );
  });
});

describe('the templates in docs/systems/jobd', () => {
  it('hold options that are known, and each of them', async () => {
    const { daemon: core, ...config } = readDaemonConfig(await allOptions('jobd.conf.example'));
    expect(config.unknown).toEqual([]);
    expect(config).toMatchObject({ master: { port: 7081, tls: {} }, http: { port: 9780 } });
    expect(core).toMatchObject({ database: { dialect: 'sqlite' }, orphans: 'fail', lease: 15_000 });
    expect(core.targets.get('high')).toMatchObject({ concurrency: 5, timeout: 60_000 });
    expect(readMasterConfig(await allOptions('jobd-master.conf.example'))).toMatchObject({
      unknown: [],
      pollAllWorkers: true,
    });
    expect(readJobctlConfig(await allOptions('jobctl.conf.example'), false)).toMatchObject({ master: true });
  });
});
