import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Report } from '../../bench/harness/report.mjs';
import { BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

describe('the benchmark of jobd, with a few jobs', () => {
  let report: Report;

  beforeAll(async () => {
    report = await benchReport(0.01, 'jobd');
  }, BENCH_TIMEOUT_MS);

  const rows = () => report.sections.flatMap((section) => section.rows);

  it('runs every measurement', () => {
    expect(report.sections.map(({ name }) => name)).toEqual(['drain1', 'drain8', 'manual', 'flood']);
  });

  it('yields a number of the daemon and of bare processes for every row', () => {
    for (const { key, values } of rows()) {
      for (const contender of ['jobd', 'bare'])
        expect([key, contender, Number.isFinite(values[contender]?.median)]).toEqual([key, contender, true]);
    }
  });

  it('compares ratios to bare processes with the targets', () => {
    expect(rows().map(({ key, ratios }) => [key, ratios['bare']?.target])).toEqual([
      ['drain1', 0.9],
      ['drain8', 0.9],
      ['manualP50', 1.2],
      ['flood', 1.2],
    ]);
  });
});
