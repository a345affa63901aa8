import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Report } from '../../bench/harness/report.mjs';
import { BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

describe('the benchmark of JQ, with a few jobs', () => {
  let report: Report;

  beforeAll(async () => {
    report = await benchReport(0.005, 'jq');
  }, BENCH_TIMEOUT_MS);

  it('compares enqueued and run jobs with requests to an empty server', () => {
    const all = report.sections.flatMap((section) => section.rows);
    expect(all.map(({ key }) => key)).toEqual(['enqueue', 'jobs', 'constrained']);
    const rows = all.filter(({ key }) => key !== 'constrained');
    for (const { values, ratios } of rows) {
      const [ours = NaN, theirs = NaN] = ['jq', 'nest'].map((contender) => values[contender]?.median);
      expect([ours > 0, theirs > 0]).toEqual([true, true]);
      expect(ratios['nest']?.value).toBeCloseTo(ours / theirs);
      expect(ratios['nest']).toHaveProperty('met');
    }
    expect(report.targets.of).toBe(3);
  });

  it('measures the cost of constraints on a large argument', () => {
    const row = report.sections.flatMap((section) => section.rows).find(({ key }) => key === 'constrained');
    expect(Number.isFinite(row?.values['jq']?.median)).toBe(true);
  });
});
