import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { commandOf } from '../../../lib/jobd/launcher/launcher.js';
import { Launcher, type LauncherOptions } from '../../../lib/jobd/launcher/launcher.js';
import { killOrphans } from '../../../lib/jobd/launcher/orphans.js';
import { processWay } from '../../../lib/jobd/launcher/start-process.js';
import { runProgram, TYPESCRIPT } from '../../support/test-process.js';
import { eventually, until } from '../../support/until.js';

/** A zombie no longer runs, though its parent has not collected it yet. */
function isRunning(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !readFileSync(stat, 'utf8').includes(') Z ');
}

describe('commandOf', () => {
  it('replaces {id} everywhere, then splits on spaces: no shell, no quotes', () => {
    expect(commandOf('php /job.php {id} --out={id}.txt', 7)).toEqual(['php', '/job.php', '7', '--out=7.txt']);
    expect(commandOf('  sh  -c "echo $HOME" ', 1)).toEqual(['sh', '-c', '"echo', '$HOME"']);
    expect(commandOf('run', 1)).toEqual(['run']);
  });
});

const WAYS = { posix_spawn: 'auto', child_process: false } as const;

describe('processWay', () => {
  it('uses posix_spawn on this machine, so that these tests cover both ways', () => {
    expect(processWay()).toBe('posix_spawn');
    expect(processWay(false)).toBe('child_process');
  });
});

describe.each(Object.entries(WAYS))('Launcher with %s', (way, posixSpawn) => {
  let folder = '';
  let scripts = 0;
  const quick = { outputGrace: 150, killGrace: 300 };

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'gearmonkey-launcher-')));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function launch(script: string, options: Partial<LauncherOptions> = {}, timeout?: number) {
    const path = join(folder, `${++scripts}.sh`);
    await writeFile(path, script);
    const launcher = new Launcher(
      { launcher: `/bin/sh ${path} {id}`, posixSpawn, ...quick, ...options },
      'instance-1',
    );
    return launcher.launch(42, timeout);
  }
  const run = async (...args: Parameters<typeof launch>) => (await launch(...args)).result;

  it.each([
    [{ launcher: '' }, '`launcher`'],
    [{ launcher: 'a\0b' }, '`launcher`'],
    [{ launcher: 'a', maxOutputBuffer: -1 }, '`maxOutputBuffer`'],
    [{ launcher: 'a', posixSpawn: true as unknown as false }, "`posixSpawn` to be 'auto' or false"],
    [{ launcher: 'a', killGrace: Number.NaN }, '`killGrace`'],
  ])('refuses %j', (options, name) => {
    expect(() => new Launcher(options, 'i')).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    expect(() => new Launcher(options, 'i')).toThrow(name);
  });

  it('names the directory if that is missing, and the command otherwise', async () => {
    const bad = { result: 'fail', code: null, signal: null, stdout: '' };
    const launcher = new Launcher({ launcher: '/bin/true', cwd: '/no/such/directory', posixSpawn }, 'i');
    await expect(launcher.launch(1).result).resolves.toMatchObject({
      ...bad,
      stderr: expect.stringContaining("working directory '/no/such/directory' doesn't exist"),
    });
    await expect(
      new Launcher({ launcher: '/no/such/command', posixSpawn }, 'i').launch(1).result,
    ).resolves.toMatchObject({
      ...bad,
      stderr: expect.stringContaining('spawn /no/such/command ENOENT'),
    });
    await expect(
      new Launcher({ launcher: '/etc/passwd', posixSpawn }, 'i').launch(1).result,
    ).resolves.toMatchObject({
      ...bad,
      stderr: expect.stringContaining('EACCES'),
    });
  });

  it('fails a job whose directory can not be read, and says why', async () => {
    const notAFolder = join(folder, 'file');
    await writeFile(notAFolder, '');
    await symlink(join(folder, 'loop'), join(folder, 'loop'));
    for (const [cwd, why] of [
      [`${notAFolder}/below`, 'ENOTDIR'],
      [`${folder}/loop/below`, 'ELOOP'],
      [`${folder}/${'x'.repeat(300)}`, 'ENAMETOOLONG'],
    ] as const) {
      const { result, stderr } = await new Launcher({ launcher: '/bin/true', cwd, posixSpawn }, 'i').launch(1)
        .result;
      expect([result, stderr]).toEqual(['fail', expect.stringContaining(`'${cwd}' can't be used: ${why}`)]);
    }
  });

  it.each([2_592_000_000, Number.MAX_SAFE_INTEGER])(
    'does not take a time limit of %d ms, longer than a timer can wait, for none at all',
    async (timeout) => {
      const result = await run('echo end', {}, timeout);
      expect(result).toMatchObject({ result: 'ok', stdout: 'end\n', stderr: '' });
    },
  );

  it('counts the omitted bytes exactly, also if the cut splits a character', async () => {
    const script = String.raw`printf 'ää\303'; sleep 0.05; printf '\244x\360\237'; sleep 0.05; printf '\230\200'`;
    const { stdout } = await run(`printf '%0200d' 0; ${script}`, { maxOutputBuffer: 200 });
    const [zeros = ''] = /^0*/.exec(stdout) ?? [];
    expect(stdout.slice(zeros.length)).toBe(
      `\n[jobd: ${211 - zeros.length} more bytes of output left out]\n`,
    );
  });

  it('gives the process its directory, its environment and its number', async () => {
    const script = 'echo "$1 $PWD $EXTRA $PATH"; read line || echo no input';
    const { stdout } = await run(script, { cwd: folder, env: { EXTRA: 'more' } });
    expect(stdout).toBe(`42 ${folder} more ${process.env['PATH']}\nno input\n`);
  });

  it("finds commands in the PATH, the launcher's own if it has one, and runs scripts that name no interpreter", async () => {
    const path = join(folder, `tool-${way}`);
    await writeFile(path, 'echo "tool $1"', { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env['PATH']}` };
    const first = async (options: LauncherOptions) =>
      (await new Launcher({ ...options, posixSpawn }, 'i').launch(7).result).stdout;
    await expect(first({ launcher: 'echo found {id}' })).resolves.toBe('found 7\n');
    await expect(first({ launcher: `${path} {id}` })).resolves.toBe('tool 7\n');
    await expect(first({ launcher: `tool-${way} {id}`, env })).resolves.toBe('tool 7\n');
    await expect(first({ launcher: `./tool-${way} {id}`, cwd: folder })).resolves.toBe('tool 7\n');
  });

  it('blocks no signal that node ignores, and has its own session', async () => {
    const { stdout } = await run(
      'grep -E "^Sig(Blk|Ign)" /proc/self/status; cut -d" " -f1,5,6 /proc/$$/stat',
    );
    const [blocked = '', ignored = '', ids = ''] = stdout.split('\n');
    expect(blocked).toMatch(/\t0+$/);
    expect(ignored).toMatch(/\t0+$/);
    const [pid, group, session] = ids.split(' ');
    expect([group, session]).toEqual([pid, pid]);
  });

  it('keeps no file open when its processes have ended', async () => {
    const open = () => readdirSync('/proc/self/fd').length;
    await run('exit 0');
    const before = open();
    await Promise.all(Array.from({ length: 20 }, () => run('echo one; echo two >&2')));
    await eventually(() => expect(open()).toBeLessThanOrEqual(before));
  });

  it.each([
    ['exit 0', { result: 'ok', code: 0, signal: null }],
    ['exit 255', { result: 'fail', code: 255, signal: null }],
    ['kill -9 $$', { result: 'fail', code: null, signal: 'SIGKILL' }],
  ])('reports how "%s" ended', async (script, end) => {
    await expect(run(script)).resolves.toMatchObject(end);
  });

  it('joins characters that arrive in pieces, and replaces bytes that are not UTF-8', async () => {
    const script = String.raw`printf 'a\360\237'; sleep 0.1; printf '\230\200b\377c\303'`;
    await expect(run(script)).resolves.toMatchObject({ stdout: 'a😀b\uFFFDc\uFFFD' });
  });

  it('cuts output between characters, at the limit, the marker included', async () => {
    const { stdout, stderr } = await run(
      'head -c 300000 /dev/zero | tr "\\0" x; i=0; while [ $i -lt 400 ]; do echo ääääääää >&2; i=$((i+1)); done',
      { maxOutputBuffer: 1000 },
    );
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(1000);
    expect(stdout).toMatch(/^x{900,}\n\[jobd: 299\d{3} more bytes of output left out\]\n$/);
    expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(1000);
    expect(stderr).toMatch(/^[ä\n]+\n\[jobd: \d+ more bytes of output left out\]\n$/);
    await expect(run('echo much', { maxOutputBuffer: 0 })).resolves.toMatchObject({ stdout: '' });
    await expect(run('printf 12345', { maxOutputBuffer: 5 })).resolves.toMatchObject({ stdout: '12345' });
  });

  it('includes what a grandchild writes once its parent has ended', async () => {
    const script = 'echo first; (sleep 0.02; echo soon) &';
    const result = run(script, { outputGrace: '60s' });
    await expect(result).resolves.toMatchObject({ result: 'ok', stdout: 'first\nsoon\n' });
  });

  it('does not wait for a grandchild forever', async () => {
    const [told, late] = [join(folder, 'told'), join(folder, 'late')];
    const script = `(until [ -e ${told} ]; do sleep 0.05; done; echo late; echo alive > ${late}) & echo first`;
    await expect(run(script)).resolves.toMatchObject({ result: 'ok', stdout: 'first\n' });
    await writeFile(told, '');
    await until(() => existsSync(late));
    await rm(told);
    await rm(late);
  });

  it('ends a job that takes too long', async () => {
    const result = await run('exec sleep 60', {}, 200);
    expect(result).toMatchObject({ result: 'fail', code: null, signal: 'SIGTERM' });
    expect(result.stderr).toMatch(/\[jobd: timed out after 0\.2 s\]\n$/);
  });

  /** Ends a job as soon as its script has come to READY. */
  async function ended(script: string) {
    const ready = join(folder, 'ready');
    const job = await launch(script.replace('READY', `: > ${ready}`));
    await until(() => existsSync(ready));
    await rm(ready);
    expect(job.terminate('told to')).toBe(true);
    return job.result;
  }

  it('ends the children of a job with it', async () => {
    const result = await ended('sleep 60 & echo $!; READY; wait');
    expect(result).toMatchObject({ result: 'fail', code: null, signal: 'SIGTERM' });
    expect(result.stdout).toMatch(/^\d+\n$/);
    expect(isRunning(Number(result.stdout))).toBe(false);
  });

  it('kills a process that ignores SIGTERM', async () => {
    const script =
      "trap '' TERM; (while :; do sleep 0.05; done) & echo $!; READY; while :; do sleep 0.05; done";
    const result = await ended(script);
    expect(result).toMatchObject({ result: 'fail', code: null, signal: 'SIGKILL' });
    expect(result.stdout).toMatch(/^\d+\n$/);
    expect(isRunning(Number(result.stdout))).toBe(false);
  });

  it('fails a job that was terminated and then exits with 0', async () => {
    const result = await ended("trap 'exit 0' TERM; READY; while :; do sleep 0.05; done");
    expect(result).toMatchObject({ result: 'fail', code: 0, signal: null });
  });

  it('sends signals by name and by number, refuses unknown ones; 0 only probes', async () => {
    const job = await launch('trap "echo one" USR1; echo ready; while :; do sleep 0.02; done');
    for (const bad of ['NOPE', 'constructor', '', -1, 999, 1.5, Number.NaN])
      expect(job.signal(bad)).toBe(false);
    expect(job.signal(0)).toBe(true);
    await until(() => job.signal('SIGKILL'));
    await expect(job.result).resolves.toMatchObject({ signal: 'SIGKILL' });
    expect(job.signal(0)).toBe(false);
    expect(job.signal(15)).toBe(false);
  });
});

describe('a program whose job has left a child behind that holds its output', () => {
  it('ends before the child does', async () => {
    const lib = new URL('../../../lib/jobd/launcher/launcher.ts', import.meta.url);
    const text = `import { Launcher } from '${lib}';
      const launcher = new Launcher({ launcher: '/bin/sh ./left.sh', cwd: process.argv[1], outputGrace: 50 }, 'i');
      console.log((await launcher.launch(1).result).stdout);`;
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-launcher-'));
    await writeFile(join(folder, 'left.sh'), 'sleep 60 & echo $!');
    const { stdout } = await runProgram(process.execPath, [
      ...TYPESCRIPT,
      '--input-type=module',
      '-e',
      text,
      folder,
    ]);
    expect(isRunning(Number(stdout))).toBe(true);
    process.kill(Number(stdout), 'SIGKILL');
    await rm(folder, { recursive: true });
  });
});

describe('a process that a signal ends, or that ignores it', () => {
  const SIGNALS = Array.from({ length: 31 }, (_, index) => index + 1);
  const SIGSTOP = 19;

  async function endOf(signal: number, posixSpawn: LauncherOptions['posixSpawn']) {
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-launcher-'));
    await writeFile(join(folder, 'end.sh'), `ulimit -c 0; kill -${signal} $$; exit 7`);
    const job = new Launcher({ launcher: '/bin/sh ./end.sh', cwd: folder, posixSpawn }, 'i').launch(1);
    if (signal === SIGSTOP) job.signal('SIGKILL');
    const { code, signal: name } = await job.result;
    await rm(folder, { recursive: true });
    return { code, name };
  }

  it('has the same end by posix_spawn as by Node, for each signal with a name', async () => {
    const bySpawn = await Promise.all(SIGNALS.map((signal) => endOf(signal, 'auto')));
    const byNode = await Promise.all(SIGNALS.map((signal) => endOf(signal, false)));
    expect(bySpawn).toEqual(byNode);
    expect(bySpawn).toContainEqual({ code: null, name: 'SIGABRT' });
  });
});

describe('a process that a signal without a name has ended', () => {
  it('is named by its number', async () => {
    const launcher = new Launcher({ launcher: '/bin/sleep 60' }, 'i');
    const job = launcher.launch(1);
    const { stdout } = await runProgram('pgrep', ['-n', '-P', `${process.pid}`, 'sleep']);
    process.kill(Number(stdout), 34);
    await expect(job.result).resolves.toMatchObject({ result: 'fail', code: null, signal: 'SIG34' });
  });
});

describe('Launcher in a thread', () => {
  it('notices ends although threads get no signals', async () => {
    const thread = new Worker(new URL('../../support/launcher-thread.mjs', import.meta.url), {
      execArgv: TYPESCRIPT,
      workerData: 20,
    });
    const [outputs] = (await once(thread, 'message')) as [string[]];
    expect(outputs).toEqual(Array.from({ length: 20 }, (_, id) => `job ${id}\n`));
    await thread.terminate();
  });
});

describe('killOrphans', () => {
  it('ends the processes of that daemon, and of no other', async () => {
    const instance = `test-${process.pid}-${Date.now()}`;
    const launch = (name: string) => new Launcher({ launcher: '/bin/sleep 60' }, name).launch(1);
    const [orphan, other] = [launch(instance), launch(`${instance}-other`)];
    // A process shows its environment a moment after it was started.
    await eventually(() => expect(killOrphans(instance)).toBe(1));
    await expect(orphan.result).resolves.toMatchObject({ signal: 'SIGKILL' });
    expect(other.signal(0)).toBe(true);
    other.signal('SIGKILL');
    await other.result;
    expect(killOrphans(instance)).toBe(0);
  });
});
