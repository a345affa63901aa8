import { Libc, type SpawnArguments } from './libc.js';
import { PosixProcess } from './posix-process.js';
import type { ProcessSurroundings, StartedProcess } from '../../vocabulary/started-process.js';

/** Keeps this process alive while its children run, and finds ended children: threads get no signals. */
const LOOK_MS = 100;
/** Looks for the end of a process whose output has ended: some at once, the others with pauses. */
const QUICK_LOOKS = 50;
const MAX_LOOKS = 70;
const PAUSE_MS = 5;

/**
 * Starts processes with `posix_spawn`, and learns of their ends. The door to this folder, for `start-process.ts` alone: what is
 * in it calls the C library by hand-written declarations, and is used since a start costs a fraction of Node's (figures:
 * docs/notes/jobd-performance.md). The option `posixSpawn` turns it off.
 */
export class PosixSpawn {
  private static shared: PosixSpawn | undefined;
  private readonly running = new Map<number, PosixProcess>();
  private looking: NodeJS.Timeout | undefined;
  private readonly look = (): void => {
    for (const pid of this.running.keys()) this.lookFor(pid);
  };

  private constructor(private readonly libc: Libc) {
    process.on('SIGCHLD', this.look);
  }

  /** Undefined if it isn't available. */
  static open(): PosixSpawn | undefined {
    const libc = Libc.open();
    return libc && (this.shared ??= new PosixSpawn(libc));
  }

  /** Undefined if processes with these options can't be started this way. */
  starter({ cwd, env: variables }: ProcessSurroundings) {
    const env = Object.entries(variables).flatMap(([name, value]) =>
      value === undefined ? [] : `${name}=${value}`,
    );
    // The command is looked up where this process would look, and a NUL ends what the C library reads.
    if (variables['PATH'] !== process.env['PATH'] || env.some((one) => one.includes('\0'))) return undefined;
    const surroundings = { cwd, env: this.libc.strings(env) };
    return (command: string, args: readonly string[]) => this.start(command, args, surroundings);
  }

  /** Undefined if it failed. */
  private start(
    command: string,
    args: readonly string[],
    { cwd, env }: Pick<SpawnArguments, 'cwd' | 'env'>,
  ): StartedProcess | undefined {
    const { libc } = this;
    const [stdout, stderr] = [libc.pipe(), libc.pipe()];
    const pid =
      stdout &&
      stderr &&
      libc.spawn({ command, args: [command, ...args], env, cwd, stdout: stdout[1], stderr: stderr[1] });
    for (const fd of [stdout?.[1], stderr?.[1]]) if (fd !== undefined) libc.close(fd);
    if (stdout && stderr && pid !== undefined)
      return this.watch(pid, { stdout: stdout[0], stderr: stderr[0] });
    for (const fd of [stdout?.[0], stderr?.[0]]) if (fd !== undefined) libc.close(fd);
    return undefined;
  }

  private watch(pid: number, files: { readonly stdout: number; readonly stderr: number }): PosixProcess {
    if (this.running.size === 0) this.looking = setInterval(this.look, LOOK_MS);
    const started = new PosixProcess(pid, files, this.libc, () => this.expectEnd(pid));
    this.running.set(pid, started);
    return started;
  }

  /** A process closes its output a moment before it has ended. */
  private expectEnd(pid: number, looks = 1): void {
    this.lookFor(pid);
    if (looks === MAX_LOOKS || !this.running.has(pid)) return;
    const again = () => this.expectEnd(pid, looks + 1);
    if (looks < QUICK_LOOKS) setImmediate(again);
    else setTimeout(again, PAUSE_MS);
  }

  private lookFor(pid: number): void {
    const started = this.running.get(pid);
    const found = started ? this.libc.poll(pid) : 'running';
    if (found === 'running') return;
    this.running.delete(pid);
    if (this.running.size === 0) clearInterval(this.looking);
    started?.ended(found === 'gone' ? undefined : found.status);
  }
}
