import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { until } from './until.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const START_MS = 25_000;

/** What a program says: a line of JSON each. */
export interface Said {
  readonly event: string;
  readonly [detail: string]: unknown;
}

const running = new Set<Program>();

/** A program of the tests, in a process of its own, that says what happens in lines of JSON. */
export class Program {
  readonly said: Said[] = [];
  private readonly child: ChildProcess;
  private errors = '';

  private constructor(path: string, argument: object, nodeOptions: readonly string[]) {
    const loader = path.endsWith('.ts') ? ['--import', '@swc-node/register/esm-register'] : [];
    const program = [...nodeOptions, ...loader, path, JSON.stringify(argument)];
    this.child = spawn(process.execPath, program, {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    if (this.child.stdout)
      createInterface(this.child.stdout).on('line', (line) => this.said.push(JSON.parse(line) as Said));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    running.add(this);
  }

  /** Resolves when it has said `ready`. */
  static async start(path: string, argument: object, nodeOptions: readonly string[] = []): Promise<Program> {
    const program = new Program(path, argument, nodeOptions);
    await program.says('ready', START_MS);
    return program;
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  all(event: string): Said[] {
    return this.said.filter((line) => line.event === event);
  }

  /** The first line of this kind. @throws with what it wrote to stderr when there is none in time */
  async says(event: string, timeout = 10_000): Promise<Said> {
    const found = () => {
      const [line] = this.all(event);
      if (!line && this.hasEnded) throw new Error(`The program ended without "${event}": ${this.errors}`);
      return line;
    };
    return until(found, { timeout, message: `The program did not say "${event}": ${this.errors}` });
  }

  tell(text: string): void {
    this.child.stdin?.write(`${text}\n`);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async ended(timeout = 15_000): Promise<number | null> {
    await until(() => this.hasEnded, { timeout, message: `The program did not end: ${this.errors}` });
    return this.exitCode;
  }

  async kill(): Promise<void> {
    running.delete(this);
    if (this.hasEnded) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

/** For a `describe`: kills its programs after each test. */
export function stopProgramsAfterEach(): void {
  afterEach(async () => {
    await Promise.all([...running].map((program) => program.kill()));
  });
}
