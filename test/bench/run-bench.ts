import type { Report } from '../../bench/harness/report.mjs';
import { runProgram, TYPESCRIPT, type Ended } from '../support/test-process.js';

/** The first run installs what it compares with. */
export const BENCH_TIMEOUT_MS = 300_000;

/** What `npm run bench` does, without its preparations. Rejects with what it said when it fails. */
export function bench(...args: string[]): Promise<Ended> {
  const program = [...TYPESCRIPT, 'bench/run.mjs', ...args];
  return runProgram(process.execPath, program, { env: process.env, timeout: BENCH_TIMEOUT_MS });
}

/** The report of one round with this part of the jobs. */
export async function benchReport(scale: number, ...args: string[]): Promise<Report> {
  const { stdout } = await bench(...args, '--json', '--rounds', '1', '--scale', String(scale));
  return JSON.parse(stdout) as Report;
}
