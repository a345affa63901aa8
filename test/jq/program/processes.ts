import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { killProcesses, TestProcess } from '../../support/test-process.js';

/** A second or less, but on a machine that is very busy. */
const START_MS = 90_000;

/** A process of the test's, and the lines it has printed. */
export class Process extends TestProcess {
  readonly lines: string[] = [];

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    super(command, args, { env: { ...process.env, NODE_OPTIONS: '', ...env } });
    createInterface(this.child.stdout).on('line', (line) => this.lines.push(line));
    this.input('');
  }

  get errors(): string {
    return this.stderr;
  }

  /** Waits for so many lines. @throws when it ends before, with what it wrote */
  async says(count: number, timeout = START_MS): Promise<readonly string[]> {
    await this.shows(() => this.lines.length >= count, `${count} lines`, { timeout });
    return this.lines;
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    this.signal(signal);
    return this.exit();
  }

  /** Stops reading its output. */
  leave(): void {
    this.child.stdout.destroy();
    this.child.stderr.destroy();
  }

  /** Waits until it ends by itself. */
  async exit(): Promise<number | null> {
    return (await this.ended(START_MS)).code;
  }
}

/** `jq-master` as its users start it, as it was built. */
export function masterProcess(args: readonly string[], env: Readonly<Record<string, string>> = {}): Process {
  return new Process(process.execPath, ['dist/cli/jq-master.js', ...args], env);
}

/** Where a master says that it listens. */
export async function urlOf(master: Process): Promise<string> {
  const [line = ''] = await master.says(1);
  return line.replace('listening on ', '');
}

export function python(script: 'pusher' | 'worker', args: readonly (string | number)[]): Process {
  const path = fileURLToPath(new URL(`./${script}.py`, import.meta.url));
  return new Process('/usr/bin/python3', [path, ...args.map(String)]);
}

/** For a `describe`: kills its processes after each test. */
export function killProcessesAfterEach(): void {
  afterEach(killProcesses);
}
