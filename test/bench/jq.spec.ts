import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Report } from '../../bench/harness/report.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** A few seconds, but on a machine that is very busy. */
const TIMEOUT_MS = 180_000;

describe('the benchmark of JQ, with a few jobs', () => {
  let report: Report;

  beforeAll(async () => {
    const args = ['--import', '@swc-node/register/esm-register', 'bench/run.mjs', 'jq'];
    const few = ['--json', '--rounds', '1', '--scale', '0.005'];
    const { stdout } = await promisify(execFile)(process.execPath, [...args, ...few], { cwd: ROOT });
    report = JSON.parse(stdout) as Report;
  }, TIMEOUT_MS);

  it('sets jobs that are enqueued, and jobs that are run, beside the requests of an empty server', () => {
    const rows = report.sections.flatMap((section) => section.rows);
    expect(rows.map(({ key }) => key)).toEqual(['enqueue', 'jobs']);
    for (const { values, ratios } of rows) {
      const [ours = NaN, theirs = NaN] = ['jq', 'nest'].map((contender) => values[contender]?.median);
      expect([ours > 0, theirs > 0]).toEqual([true, true]);
      expect(ratios['nest']?.value).toBeCloseTo(ours / theirs);
      expect(ratios['nest']).toHaveProperty('met');
    }
    expect(report.targets.of).toBe(2);
  });
});
