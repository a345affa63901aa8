import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a process says of itself. */
export interface ProcessFigures {
  readonly rss: number;
  readonly heap: number;
  /** Timers, sockets and requests that are open. */
  readonly resources: number;
}

const EXIT_TIMEOUT_MS = 20_000;

/** In a child: answers samples, and ends by itself when it is told to close. Whatever is open then keeps it alive. */
export function obey(close: () => Promise<object>): void {
  process.on('message', (order) => {
    if (order === 'sample') process.send?.(figures());
    if (order === 'close') {
      void close().then((report) => {
        process.send?.(report);
        process.disconnect();
      });
    }
  });
  process.send?.('ready');
}

function figures(): ProcessFigures {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heap: heapUsed, resources: process.getActiveResourcesInfo().length };
}

/** In the parent: one of the programs beside this file. */
export class SoakProcess {
  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(name: string, program: string, ...args: string[]): Promise<SoakProcess> {
    const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, {
      execArgv: ['--expose-gc', '--import', '@swc-node/register/esm-register'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    const started = new SoakProcess(name, child);
    await started.answer<string>();
    return started;
  }

  async sample(): Promise<ProcessFigures> {
    this.child.send('sample');
    return this.answer<ProcessFigures>();
  }

  /** Its last words. @throws when it doesn't end by itself, or not well */
  async close<Report>(): Promise<Report> {
    this.child.send('close');
    const report = await this.answer<Report>();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
    const [code] = this.hasEnded
      ? [this.child.exitCode]
      : ((await once(this.child, 'exit')) as [number | null]);
    clearTimeout(timer);
    if (code !== 0) throw new Error(`${this.name} did not end by itself (${code ?? 'killed'})`);
    return report;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private answer<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`${this.name} has ended`));
      this.child.once('exit', ended);
      this.child.once('message', (message) => {
        this.child.off('exit', ended);
        resolve(message as T);
      });
    });
  }
}
