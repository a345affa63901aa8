import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { countHeap, type HeapCount } from './heap-count.js';
import { TYPESCRIPT_WITHOUT_MAPS } from '../support/test-process.js';

/** What a process says of itself. */
export interface ProcessFigures {
  readonly rss: number;
  readonly heap: number;
  /** Timers, sockets and requests that are open. */
  readonly resources: number;
}

/** The handlers of orders, by name. Their results are sent back. */
export type Orders = Readonly<Record<string, () => object | Promise<object>>>;

const EXIT_TIMEOUT_MS = 20_000;
const SHOWN_CHARACTERS = 8_000;

/** In a child: answers orders, and ends by itself when it is told to close. Whatever is open then keeps it alive. */
export function obey(close: () => Promise<object>, own: Orders = {}): void {
  const orders: Orders = { sample, count, ...own, close };
  process.on('message', async (order: string) => {
    try {
      process.send?.({ answer: await orders[order]?.() });
    } catch (error) {
      process.send?.({ error: String(error) });
    }
    if (order === 'close') process.disconnect();
  });
  process.send?.({ answer: 'ready' });
}

function sample(): ProcessFigures {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heap: heapUsed, resources: process.getActiveResourcesInfo().length };
}

function count(): HeapCount {
  const resources = process.getActiveResourcesInfo();
  const kinds = [...new Set(resources)].map((kind) => [
    kind,
    resources.filter((each) => each === kind).length,
  ]);
  return { ...countHeap(), ...(Object.fromEntries(kinds) as HeapCount) };
}

/** In the parent: one of the programs beside this file. Its errors show what it wrote. */
export class SoakProcess {
  private output = '';

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  static async start(name: string, program: string, ...args: string[]): Promise<SoakProcess> {
    const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, {
      execArgv: ['--expose-gc', '--no-warnings', ...TYPESCRIPT_WITHOUT_MAPS],
      env: { ...process.env, NODE_OPTIONS: '' },
      silent: true,
    });
    const started = new SoakProcess(name, child);
    await started.answer();
    return started;
  }

  /** What it answers to the order. @throws when it fails, or ends instead */
  async does<T extends object>(order: string): Promise<T> {
    this.child.send(order);
    return (await this.answer()) as T;
  }

  /** Its last words. @throws when it doesn't end by itself, or not well */
  async close<Report extends object>(): Promise<Report> {
    const report = await this.does<Report>('close');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
    if (!this.hasEnded) await once(this.child, 'exit');
    clearTimeout(timer);
    if (this.child.exitCode !== 0) throw this.error('did not end by itself');
    return report;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(this.error('has ended'));
      this.child.once('exit', ended);
      this.child.once('message', ({ answer, error }: { answer?: unknown; error?: string }) => {
        this.child.off('exit', ended);
        if (error === undefined) resolve(answer);
        else reject(this.error(`failed: ${error}`));
      });
    });
  }

  private error(what: string): Error {
    const { exitCode, signalCode } = this.child;
    const code = signalCode ?? exitCode ?? 'running';
    return new Error(`${this.name} ${what} (${code}); it wrote: ${this.output.slice(-SHOWN_CHARACTERS)}`);
  }
}
