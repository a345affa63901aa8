import { createInterface } from 'node:readline';
import { afterEach } from '@jest/globals';
import { killProcesses, TestProcess, TYPESCRIPT, type ProcessOptions } from './test-process.js';

/** What a program says: a line of JSON each. */
export interface Said {
  readonly event: string;
  readonly [detail: string]: unknown;
}

export interface ProgramOptions extends ProcessOptions {
  /** @default the test's own */
  readonly node?: string;
}

/** A program of the tests, in a process of its own, that says what happens in lines of JSON. */
export class Program extends TestProcess {
  readonly said: Said[] = [];

  private constructor(
    path: string,
    argument: object,
    nodeOptions: readonly string[],
    { node = process.execPath, ...options }: ProgramOptions,
  ) {
    const loader = path.endsWith('.ts') ? TYPESCRIPT : [];
    super(node, [...nodeOptions, ...loader, path, JSON.stringify(argument)], options);
    createInterface(this.child.stdout).on('line', (line) => this.said.push(JSON.parse(line) as Said));
  }

  /** Resolves when it has said `ready`. */
  static async start(
    path: string,
    argument: object,
    nodeOptions: readonly string[] = [],
    options: ProgramOptions = {},
  ): Promise<Program> {
    const program = new Program(path, argument, nodeOptions, options);
    await program.says('ready');
    return program;
  }

  all(event: string): Said[] {
    return this.said.filter((line) => line.event === event);
  }

  /** The first line of this kind. @throws when it ends, or time is up, without one */
  async says(event: string, timeout?: number): Promise<Said> {
    return this.shows(() => this.all(event)[0], `"${event}"`, { timeout });
  }

  tell(text: string): void {
    this.write(`${text}\n`);
  }
}

/** For a `describe`: kills its programs after each test. */
export function stopProgramsAfterEach(): void {
  afterEach(killProcesses);
}
