import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Debian's Python: the one that has the redis module. */
const PYTHON = '/usr/bin/python3';

const LINE_TIMEOUT_MS = 20_000;

/** One line of an actor's output, by its keys; see the head of client.py and worker.py. */
export interface ActorLine {
  id?: number;
  job?: Record<string, string>;
  lock?: [key: string, value: string] | null;
  error?: string;
  ready?: true;
  started?: number;
  finished?: number;
  input?: string;
}

export interface ActorExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const living = new Set<PythonActor>();

/** For `afterEach`: ends every actor that still runs. */
export async function stopActors(): Promise<void> {
  await Promise.all([...living].map((actor) => actor.stop()));
}

/** A GearMonkey client or worker in another language, in a process of its own. */
export class PythonActor {
  readonly exit: Promise<ActorExit>;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  /**
   * @param args as on the script's command line; numbers are written out
   * @param input the bytes of its stdin
   */
  constructor(
    private readonly script: 'client' | 'worker',
    args: readonly (string | number)[],
    input: string | Uint8Array = '',
  ) {
    const path = fileURLToPath(new URL(`./${script}.py`, import.meta.url));
    const child = spawn(PYTHON, [path, ...args.map(String)], { stdio: 'pipe' });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    // An actor that ends without reading its stdin closes the pipe; its exit code tells the rest.
    child.stdin.on('error', () => undefined).end(input);
    living.add(this);
    this.exit = once(child, 'close').then(([code, signal]) => {
      living.delete(this);
      return { code, signal };
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it wrote to stderr so far. */
  get errors(): string {
    return this.#errors;
  }

  /** The next line it prints. @throws when it ends, or is silent for 10 s, instead */
  async line(): Promise<ActorLine> {
    const next = await within(LINE_TIMEOUT_MS, this.#lines.next(), () => `${this.script}.py is silent`);
    if (!next.done) return JSON.parse(next.value) as ActorLine;
    const { code, signal } = await this.exit;
    throw new Error(`${this.script}.py ended (${signal ?? code}) without another line.\n${this.#errors}`);
  }

  /** Asks it to end (SIGTERM) and waits until it has. */
  stop(): Promise<ActorExit> {
    return this.kill('SIGTERM');
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ActorExit> {
    this.#child.kill(signal);
    return this.exit;
  }
}

async function within<T>(ms: number, promise: Promise<T>, message: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${message()} (waited ${ms} ms)`)), ms);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
