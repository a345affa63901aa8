import { afterAll } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/free-port.js';
import { runProgram, TestProcess, type Ended } from '../../support/test-process.js';
import { RawClient } from '../wire/raw-client.js';

const dist = fileURLToPath(new URL('../../../dist/cli/', import.meta.url));

type ProgramName = 'jobd' | 'jobd-master' | 'jobctl';

/** One of our programs as it was built, in a process of its own. */
export class CliProcess extends TestProcess {
  constructor(name: ProgramName, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, NODE_OPTIONS: '', HOME: '/nonexistent', ...environment };
    super(process.execPath, [join(dist, `${name}.js`), ...args], { env });
  }

  /** Stops reading its output. */
  leave(): void {
    this.child.stdout.destroy();
    this.child.stderr.destroy();
  }

  /** Limits what it may have, as `prlimit` names it; it may be lifted again. */
  async limit(resource: string, soft: number | 'unlimited'): Promise<void> {
    await runProgram('prlimit', [`--pid=${this.pid}`, `--${resource}=${soft}:`]);
  }
}

/** Runs a program to its end. */
export async function runCli(
  name: ProgramName,
  args: readonly string[],
  { input = '', environment }: { input?: string; environment?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const program = new CliProcess(name, args, environment);
  program.input(input);
  return program.ended();
}

/** For a `describe`: a folder, and programs that are killed after it. */
export function useCli() {
  let folder: string | undefined;
  let files = 0;
  const running: CliProcess[] = [];
  afterAll(async () => {
    await Promise.all(running.map((program) => program.kill()));
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const used = {
    async file(text: string): Promise<string> {
      folder ??= await mkdtemp(join(tmpdir(), 'jobd-cli-'));
      const path = join(folder, `file-${++files}`);
      await writeFile(path, text);
      return path;
    },

    /** A program that is killed at the end, if it has not ended. */
    start(...program: ConstructorParameters<typeof CliProcess>): CliProcess {
      const started = new CliProcess(...program);
      running.push(started);
      return started;
    },

    /** A program that serves a port, by a configuration without host and port. */
    async serve(name: 'jobd' | 'jobd-master', config: string, port?: number) {
      const served = port ?? (await freePort());
      const path = await used.file(`host = 127.0.0.1\nport = ${served}\n${config}`);
      const program = used.start(name, ['--config', path]);
      await program.shows(() => answers(served), 'that it serves its port');
      return { port: served, path, program };
    },

    /** An SQLite table with rows for jobd; its options for a configuration. */
    async table(): Promise<{ path: string; config: string }> {
      const path = await used.file('');
      await rm(path);
      return { path, config: `database = sqlite:${path}\n` };
    },
  };
  return used;
}

async function answers(port: number): Promise<boolean> {
  const client = await RawClient.connect(port).catch(() => undefined);
  client?.close();
  return client !== undefined;
}
