import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const TYPESCRIPT = new URL('../../scripts/typescript.mjs', import.meta.url).href;
const COUNT = Math.min(4, Math.max(2, availableParallelism()));

/** Several worker processes. */
export class WorkerProcesses {
  private constructor(private readonly children: readonly ChildProcess[]) {}

  /** Resolves when all of them have started. @throws if one ends instead */
  static async start(): Promise<WorkerProcesses> {
    const script = fileURLToPath(new URL('./worker.ts', import.meta.url));
    const workers = new WorkerProcesses(
      Array.from({ length: COUNT }, () => fork(script, { execArgv: ['--import', TYPESCRIPT] })),
    );
    try {
      await Promise.race([
        Promise.all(workers.children.map((child) => once(child, 'message'))),
        workers.lost(1),
      ]);
    } catch (error) {
      await workers.stop();
      throw error;
    }
    return workers;
  }

  get count(): number {
    return this.children.length;
  }

  /** Rejects when `count` of them have ended; by default when none is left. */
  lost(count = this.count): Promise<never> {
    return new Promise((_, reject) => {
      let ended = 0;
      for (const child of this.children) {
        child.once('exit', () => {
          ended += 1;
          if (ended >= count) reject(new Error('The worker processes ended before the jobs did; see above.'));
        });
      }
    });
  }

  /** Stops them: each finishes its running jobs, signs off and closes its connections. */
  async stop(): Promise<void> {
    const running = this.children.filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    await Promise.all(
      running.map(async (child) => {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      }),
    );
  }
}
