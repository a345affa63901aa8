import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TestProcess } from '../support/test-process.js';

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

const living = new Set<PythonActor>();

/** For `afterEach`: ends every actor that still runs. */
export async function stopActors(): Promise<void> {
  await Promise.all([...living].map((actor) => actor.stop()));
}

/** A GearMonkey client or worker in another language, in a process of its own. */
export class PythonActor extends TestProcess {
  readonly exit: Promise<{ readonly code: number | null }>;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param args as on the script's command line; numbers are written out
   * @param input the bytes of its stdin
   */
  constructor(
    script: 'client' | 'worker',
    args: readonly (string | number)[],
    input: string | Uint8Array = '',
  ) {
    const path = fileURLToPath(new URL(`./${script}.py`, import.meta.url));
    super(PYTHON, [path, ...args.map(String)]);
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.input(input);
    living.add(this);
    this.exit = this.closed.then(() => {
      living.delete(this);
      return { code: this.exitCode };
    });
  }

  /** What it wrote to stderr so far. */
  get errors(): string {
    return this.stderr;
  }

  /** The next line it prints. @throws when it ends, or is silent for long, instead */
  async line(): Promise<ActorLine> {
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(this.error(`is silent (waited ${LINE_TIMEOUT_MS} ms)`)),
        LINE_TIMEOUT_MS,
      );
    });
    const next = await Promise.race([this.#lines.next(), silent]).finally(() => clearTimeout(timer));
    if (!next.done) return JSON.parse(next.value) as ActorLine;
    await this.exit;
    throw this.error('ended without another line');
  }

  /** Asks it to end (SIGTERM) and waits until it has. */
  stop(): Promise<void> {
    return this.kill('SIGTERM');
  }
}
