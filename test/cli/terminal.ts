import { afterAll, afterEach } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../support/test-process.js';
import { until } from '../support/until.js';
import { PROGRAM } from './gearmonkey-process.js';

/** A terminal that shows what the program prints: a tmux server of the test's own. */
class Terminal {
  constructor(
    private readonly folder: string,
    private readonly columns: number,
  ) {}

  /** Runs `gearmonkey`; its exit code follows on the screen as `exit CODE`. */
  async start(args: readonly string[], environment: Record<string, string> = {}): Promise<void> {
    const set = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`);
    const command = [...set, quoted(process.execPath), quoted(PROGRAM), ...args.map(quoted)].join(' ');
    // `cat` keeps the screen until the server is killed.
    const line = `${command}; echo "exit $?"; exec cat`;
    const size = ['-x', String(this.columns), '-y', '24'];
    await this.tmux('-f', '/dev/null', 'new-session', '-d', ...size, line);
  }

  async screen(): Promise<string> {
    return (await this.tmux('capture-pane', '-p')).stdout;
  }

  /** Waits until the screen matches, and returns it. */
  async shows(pattern: RegExp): Promise<string> {
    let last = '';
    await until(async () => pattern.test((last = await this.screen())), {
      timeout: 45_000,
      interval: 100,
      message: `The terminal did not show ${pattern}`,
      seen: () => last,
    });
    return last;
  }

  async keys(...keys: string[]): Promise<void> {
    await this.tmux('send-keys', ...keys);
  }

  /** Whether the cursor is shown, and whether a program has the whole screen. */
  async state(): Promise<{ cursor: boolean; fullScreen: boolean }> {
    const { stdout } = await this.tmux('display-message', '-p', '#{cursor_flag}#{alternate_on}');
    return { cursor: stdout.startsWith('1'), fullScreen: stdout.trim().endsWith('1') };
  }

  async close(): Promise<void> {
    await this.tmux('kill-server').catch(() => undefined);
  }

  private tmux(...args: string[]) {
    const env = { ...process.env, NODE_OPTIONS: '', TMUX_TMPDIR: this.folder, LC_ALL: 'C.UTF-8' };
    return runProgram('tmux', ['-u', ...args], { env });
  }
}

/** For a `describe`: terminals, of which each test has one. */
export function useTerminal(): { open(columns?: number): Promise<Terminal> } {
  const folders: string[] = [];
  let terminal: Terminal | undefined;
  afterEach(async () => {
    await terminal?.close();
    terminal = undefined;
  });
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));
  return {
    async open(columns = 120) {
      const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-terminal-'));
      folders.push(folder);
      return (terminal = new Terminal(folder, columns));
    },
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
