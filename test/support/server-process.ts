import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { until } from './until.js';

const LOG_CHARACTERS = 4_000;
/** Debian keeps servers in folders that are only on root's PATH. */
const PATH = [process.env['PATH'], '/usr/sbin', '/usr/local/sbin'].join(delimiter);
/** The environment of servers, and of what prepares them. */
export const SERVER_ENV: NodeJS.ProcessEnv = { ...process.env, PATH };

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The system's user that the process runs as. */
  readonly uid?: number;
  readonly gid?: number;
}

/** The process of a server that a test starts, breaks and starts again. */
export class ServerProcess {
  #child: ChildProcess | undefined;
  #log = '';

  constructor(private readonly start: ServerCommand) {}

  /** @throws when the process is not running */
  get pid(): number {
    const pid = this.running?.pid;
    if (pid === undefined) throw new Error(`${this.start.command} is not running.`);
    return pid;
  }

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** Resolves when `answers` gives true. */
  async launch(answers: () => Promise<boolean>): Promise<void> {
    const { command, args, uid, gid } = this.start;
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = spawn(command, args, { stdio: [...stdio], env: SERVER_ENV, uid, gid });
    this.#log = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-LOG_CHARACTERS);
      });
    }
    await once(child, 'spawn');
    this.#child = child;
    const alive = () => {
      if (!this.running) throw new Error(`${command} ended while starting:\n${this.#log}`);
      return answers();
    };
    await until(alive, { timeout: 20_000, message: `${command} does not answer` });
  }

  /** Resolves when the process is gone; with SIGSTOP and SIGCONT, when the signal is sent. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.running;
    if (!child) return;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
      child.kill(signal);
      // Its threads stop one after the other: one of them could still answer.
      if (signal === 'SIGSTOP') await until(() => isStopped(child.pid));
      return;
    }
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  private get running(): ChildProcess | undefined {
    const child = this.#child;
    return child && child.exitCode === null && child.signalCode === null ? child : undefined;
  }
}

/** Every thread of it, as Linux tells; elsewhere it is taken for granted. */
function isStopped(pid: number | undefined): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8')));
}
