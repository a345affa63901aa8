import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { until } from '../../support/until.js';

/** A second or less, but on a machine that is very busy. */
const START_MS = 90_000;
const root = fileURLToPath(new URL('../../..', import.meta.url));
const living = new Set<Process>();

/** A process of the test's, and the lines it has printed. */
export class Process {
  readonly lines: string[] = [];
  errors = '';
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (this.child.stdout) createInterface(this.child.stdout).on('line', (line) => this.lines.push(line));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    this.ended = once(this.child, 'close');
    living.add(this);
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  /** Waits for so many lines. @throws when it ends before, with what it wrote to stderr */
  async says(count: number, timeout = START_MS): Promise<readonly string[]> {
    const enough = () => {
      if (this.lines.length >= count) return true;
      if (this.child.exitCode !== null) throw new Error(`It ended (${this.child.exitCode}): ${this.errors}`);
      return false;
    };
    await until(enough, {
      timeout,
      message: `It said ${this.lines.length} of ${count} lines: ${this.errors}`,
    });
    return this.lines;
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    living.delete(this);
    this.child.kill(signal);
    await this.ended;
    return this.child.exitCode;
  }

  /** Waits until it ends by itself. */
  async exit(): Promise<number | null> {
    await this.ended;
    living.delete(this);
    return this.child.exitCode;
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
  afterEach(async () => {
    await Promise.all([...living].map((each) => each.end()));
  });
}
