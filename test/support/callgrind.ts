import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from './redis-server.js';
import { runProgram } from './test-process.js';

const control = (...args: string[]) => runProgram('callgrind_control', args, { env: process.env });

/** Whether `valgrind` is there: it is a Debian package that nothing else needs. */
export async function hasCallgrind(): Promise<boolean> {
  return runProgram('sh', ['-c', 'command -v callgrind_control'], { env: process.env }).then(
    () => true,
    () => false,
  );
}

/** A redis-server whose instructions are counted: they are nearly the same on any machine, however busy. */
export class CountedServer {
  private dumps = 0;

  private constructor(
    private readonly directory: string,
    readonly server: RedisServer,
  ) {}

  static async start(): Promise<CountedServer> {
    const directory = await mkdtemp(join(tmpdir(), 'gearmonkey-callgrind-'));
    const under = ['valgrind', '--tool=callgrind', `--callgrind-out-file=${join(directory, 'counted')}`];
    // Its timer fires by the time that passes.
    return new CountedServer(directory, await RedisServer.start(['--hz', '1'], { under }));
  }

  /** How many instructions the server executes meanwhile. */
  async instructions(action: () => Promise<unknown>): Promise<number> {
    const pid = String(this.server.pid);
    await control('--zero', pid);
    await action();
    await control('--dump', pid);
    this.dumps += 1;
    const counted = await readFile(join(this.directory, `counted.${this.dumps}`), 'utf8');
    return Number(/^(?:totals|summary): (\d+)$/m.exec(counted)?.[1]);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}
