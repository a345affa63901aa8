import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onThisMachine } from './machine.js';
import { until, type UntilOptions } from './until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Arguments of Node for programs in TypeScript. Source maps, which `TYPESCRIPT` has, fill the heap at the first errors. */
export const TYPESCRIPT_WITHOUT_MAPS = [
  '--import',
  new URL('../../scripts/typescript.mjs', import.meta.url).href,
];
export const TYPESCRIPT = ['--enable-source-maps', ...TYPESCRIPT_WITHOUT_MAPS];
/** Of a machine with nothing else to do. */
const PATIENCE_MS = 45_000;
const LAST_WORDS_MS = 2_000;
/** Of each stream, in messages. */
const SHOWN_CHARACTERS = 8_000;

export interface ProcessOptions {
  /** @default the repository */
  readonly cwd?: string;
  /** All of it. @default the test's own, without NODE_OPTIONS */
  readonly env?: NodeJS.ProcessEnv;
  /** The system's user that the process runs as. */
  readonly uid?: number;
  readonly gid?: number;
  /** It leads a group of processes, which `endGroup` ends, as does the end of this process. @default false */
  readonly group?: boolean;
}

/** How a process ended, and what it wrote. */
export interface Ended {
  /** `null` when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const living = new Set<TestProcess>();

/** A process that a test starts. A wait for it that fails shows what it wrote and how it ended. */
export class TestProcess {
  stdout = '';
  stderr = '';
  protected readonly child: ChildProcessWithoutNullStreams;
  private readonly exited: Promise<unknown>;
  /** Resolves when it has ended and all that it wrote has been read. */
  protected readonly closed: Promise<unknown>;
  private failure: Error | undefined;

  constructor(
    private readonly command: string,
    private readonly args: readonly string[],
    { cwd = ROOT, env = { ...process.env, NODE_OPTIONS: '' }, uid, gid, group = false }: ProcessOptions = {},
  ) {
    this.child = spawn(command, args, { cwd, env, uid, gid, stdio: 'pipe', detached: group });
    if (group) process.once('exit', this.endGroup);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    // One that ends without reading its stdin closes the pipe; its exit code tells the rest.
    this.child.stdin.on('error', () => undefined);
    this.child.on('error', (error) => (this.failure = error));
    living.add(this);
    this.exited = new Promise<void>((resolve) => {
      this.child.once('exit', () => resolve()).once('error', () => resolve());
    });
    this.closed = new Promise<void>((resolve) => this.child.once('close', () => resolve()));
    void this.exited.then(() => living.delete(this));
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  get hasEnded(): boolean {
    return this.failure !== undefined || this.child.exitCode !== null || this.child.signalCode !== null;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Writes to its stdin. */
  write(text: string): void {
    this.child.stdin.write(text);
  }

  /** Writes to its stdin, and ends it. */
  input(text: string | Uint8Array): void {
    this.child.stdin.end(text);
  }

  /** When it has ended by itself and all that it wrote has been read. @throws when it takes longer */
  async ended(timeout = onThisMachine(PATIENCE_MS)): Promise<Ended> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.error(`did not end within ${timeout} ms`)), timeout);
    });
    await Promise.race([this.closed, late]).finally(() => clearTimeout(timer));
    if (this.failure) throw this.error('could not be started', this.failure);
    const { stdout, stderr } = this;
    return { code: this.child.exitCode, stdout, stderr };
  }

  /** What the condition gives, as soon as that is something. @throws when the process ends before, or time is up */
  async shows<T>(
    condition: () => T | Promise<T>,
    what: string,
    { timeout = PATIENCE_MS, ...options }: UntilOptions = {},
  ) {
    const look = async () => {
      const { hasEnded } = this;
      // What it wrote last may arrive after its end; a process of its own may hold the pipe for longer.
      if (hasEnded) await Promise.race([this.closed, sleep(LAST_WORDS_MS)]);
      const found = await condition();
      if (!found && hasEnded) throw this.error(`ended without ${what}`);
      return found;
    };
    const seen = () => this.account();
    return until(look, { ...options, timeout, message: `${this.name} did not show ${what}`, seen });
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.kill(signal);
    await this.exited;
  }

  /** Ends it and all that it started and left running. It must have been started with `group`. */
  readonly endGroup = (): void => {
    process.off('exit', this.endGroup);
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // Nothing is left.
    }
  };

  /** An error that shows the whole process. */
  error(what: string, cause?: unknown): Error {
    return new Error(`${this.name} ${what}\n${this.account()}`, { cause });
  }

  private get name(): string {
    return [this.command, ...this.args].join(' ');
  }

  private account(): string {
    const { exitCode, signalCode } = this.child;
    const state = this.hasEnded ? `It ended with ${signalCode ?? exitCode}.` : 'It is running.';
    const shown = (text: string) => (text === '' ? '(nothing)' : text.slice(-SHOWN_CHARACTERS));
    return `${state}\nstdout: ${shown(this.stdout)}\nstderr: ${shown(this.stderr)}`;
  }
}

/** Runs a program to its end. @throws when that is not 0 or takes too long, with all that it wrote */
export async function runProgram(
  command: string,
  args: readonly string[],
  { input = '', timeout, ...options }: ProcessOptions & { input?: string; timeout?: number } = {},
): Promise<Ended> {
  const program = new TestProcess(command, args, options);
  program.input(input);
  try {
    const ended = await program.ended(timeout);
    if (ended.code !== 0) throw program.error('failed');
    return ended;
  } finally {
    if (!program.hasEnded) await program.kill();
  }
}

/** The same of a program in TypeScript, by its path in the repository. */
export function runScript(path: string, ...args: string[]): Promise<Ended> {
  return runProgram(process.execPath, [...TYPESCRIPT, path, ...args]);
}

/** For `afterEach`: ends all processes of this test file that still run. */
export async function killProcesses(): Promise<void> {
  await Promise.all([...living].map((each) => each.kill()));
}
