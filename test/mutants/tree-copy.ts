import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { JEST } from '../../scripts/jest.mjs';
import { runProgram, TestProcess } from '../support/test-process.js';
import { change, type Mutant } from './mutant.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What git doesn't have, and tests need. */
const LINKED = ['node_modules', 'dist'];
/** For tests that hang because of a change: each ends before. */
const TEST_TIMEOUT_MS = 60_000;
const RUN_TIMEOUT_MS = 120_000;
/** For all suites, without any change. */
const UNCHANGED_TIMEOUT_MS = 3_600_000;

export interface SuiteResult {
  readonly suite: string;
  readonly failed: boolean;
  /** What was wrong with each failed test, or with the suite. */
  readonly failures: readonly { readonly test: string; readonly message: string }[];
  /** Whether its tests ran at all. */
  readonly ran: boolean;
}

/** Jest's answer; or that it did not end in time, or ended without one, as when the memory was full. */
export type RunResult = readonly SuiteResult[] | 'hung' | 'crashed';

/** A copy of the working tree, in which one file at a time is changed. */
export class TreeCopy {
  private running: TestProcess | undefined;

  private constructor(private readonly folder: string) {}

  static async make(): Promise<TreeCopy> {
    const folder = mkdtempSync(join(tmpdir(), 'gearmonkey-mutants-'));
    const listed = await runProgram('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
    for (const path of listed.stdout
      .split('\0')
      .filter((name) => existsSync(join(ROOT, name)) && name !== '')) {
      cpSync(join(ROOT, path), join(folder, path), { recursive: true, force: true });
    }
    for (const path of LINKED) symlinkSync(join(ROOT, path), join(folder, path));
    return new TreeCopy(folder);
  }

  /** Runs these suites of the fast tier, without any change. */
  runUnchanged(suites: readonly string[]): Promise<RunResult> {
    return this.run(suites, UNCHANGED_TIMEOUT_MS);
  }

  private async run(suites: readonly string[], timeout: number): Promise<RunResult> {
    const output = join(this.folder, 'result.json');
    rmSync(output, { force: true });
    const args = ['--runInBand', `--testTimeout=${TEST_TIMEOUT_MS}`, '--json', `--outputFile=${output}`];
    const inTime = await this.jest([...args, '--runTestsByPath', ...suites], timeout);
    if (!inTime) return 'hung';
    return existsSync(output) ? this.resultsIn(output) : 'crashed';
  }

  /** The same with the change, which is taken back afterwards. */
  async runWith(mutant: Mutant): Promise<RunResult> {
    const path = join(this.folder, mutant.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, change(text, mutant));
    try {
      return await this.run(mutant.suites, RUN_TIMEOUT_MS);
    } finally {
      writeFileSync(path, text);
    }
  }

  remove(): void {
    this.running?.endGroup();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs Jest. False if it took too long. */
  private async jest(args: readonly string[], timeout: number): Promise<boolean> {
    const env = { ...process.env, NODE_OPTIONS: '', TEST_TIER: 'fast' };
    this.running = new TestProcess(process.execPath, [...JEST, ...args], {
      cwd: this.folder,
      env,
      group: true,
    });
    const late = sleep(timeout, 'late', { ref: false });
    try {
      return (await Promise.race([this.running.ended(2 * timeout), late])) !== 'late';
    } finally {
      // With the servers of suites that hung or broke.
      this.running.endGroup();
    }
  }

  private resultsIn(output: string): SuiteResult[] {
    const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as JestResult;
    return testResults.map(({ name, status, message, assertionResults }) => {
      const failed = assertionResults.filter((test) => test.status === 'failed');
      return {
        suite: relative(this.folder, name),
        failed: status === 'failed',
        ran: assertionResults.length > 0,
        failures:
          failed.length > 0
            ? failed.map((test) => ({ test: test.fullName, message: test.failureMessages.join('\n') }))
            : [{ test: '', message }],
      };
    });
  }
}

interface JestResult {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}
