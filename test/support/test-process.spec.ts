import { afterEach, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { until } from './until.js';
import { killProcesses, runProgram, runScript, TestProcess } from './test-process.js';

const node = (code: string, timeout?: number) => runProgram(process.execPath, ['-e', code], { timeout });
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A process that has ended keeps its entry on Linux until its parent asks how.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) [ZX] /.test(readFileSync(stat, 'utf8'));
};
const LASTS = 'setInterval(() => {}, 1000);';

describe('a program that a test runs', () => {
  afterEach(killProcesses);

  it('shows its exit code and its output when it fails', async () => {
    const failing = node('console.log("so far"); console.error("no more"); process.exitCode = 3;');
    await expect(failing).rejects.toThrow(/ failed\nIt ended with 3\.\nstdout: so far\n\nstderr: no more\n$/);
  });

  it('is named when it is a script', async () => {
    await expect(runScript('test/support/missing.ts')).rejects.toThrow(
      /missing\.ts failed\nIt ended with 1\./,
    );
  });

  it('shows the same when it takes too long and is ended', async () => {
    await expect(node(`console.log("on"); ${LASTS}`, 1)).rejects.toThrow(
      /did not end within 1 ms\nIt is running/,
    );
  });

  it('ends with all that it started, if it leads a group', async () => {
    const start = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(LASTS)}])`;
    const code = `console.log(${start}.pid); ${LASTS}`;
    const leader = new TestProcess(process.execPath, ['-e', code], { group: true });
    const child = Number(await leader.shows(() => /^\d+\n/.exec(leader.stdout)?.[0], 'the id of its child'));
    expect(isAlive(child)).toBe(true);
    leader.endGroup();
    await until(() => !isAlive(child));
    await expect(leader.ended()).resolves.toMatchObject({ code: null });
  });

  it('says why it could not be started', async () => {
    await expect(runProgram('/no/such/program', [])).rejects.toThrow(/could not be started/);
  });

  it('shows it to a test that waits for output that can no longer come', async () => {
    const mute = new TestProcess(process.execPath, ['-e', 'console.log("other"); process.exit(2);']);
    const said = mute.shows(() => mute.stdout.includes('ready'), '"ready"');
    await expect(said).rejects.toThrow(/ended without "ready"\nIt ended with 2\.\nstdout: other/);
  });

  it('shows it to a test whose wait timed out', async () => {
    const mute = new TestProcess(process.execPath, ['-e', LASTS]);
    const said = mute.shows(() => false, '"ready"', { timeout: 1 });
    await expect(said).rejects.toThrow(/did not show "ready" \(waited 1 ms\)\n.*It is running/s);
  });
});
