import { fileURLToPath } from 'node:url';
import { TestProcess, type Ended } from '../support/test-process.js';

export const PROGRAM = fileURLToPath(new URL('../../dist/cli/gearmonkey.js', import.meta.url));

/** The program `gearmonkey` as it was built, in a process of its own. */
export class GearMonkeyProcess extends TestProcess {
  constructor(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, NODE_OPTIONS: '', REDIS_URL: undefined, ...environment };
    super(process.execPath, [PROGRAM, ...args], { env });
  }

  /** Stops reading its output, as `head` does. */
  leave(): void {
    this.child.stdout.destroy();
  }
}

/** Runs the program to its end. */
export async function runGearMonkey(
  args: readonly string[],
  { input = '', environment }: { input?: string; environment?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const program = new GearMonkeyProcess(args, environment);
  program.input(input);
  return program.ended();
}

/** The values of `--json`, one on each line. */
export function valuesOf({ stdout }: Ended): unknown[] {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));
}
