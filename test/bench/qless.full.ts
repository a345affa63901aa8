import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Report } from '../../bench/harness/report.mjs';
import { BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

const FORMS = ['typed', 'unified'];

describe('the benchmark of qless, with a few jobs', () => {
  let report: Report;

  beforeAll(async () => {
    report = await benchReport(0.005, 'qless');
  }, BENCH_TIMEOUT_MS);

  const rows = () => report.sections.flatMap((section) => section.rows);

  it('yields a number of both forms for every row', () => {
    expect(report.sections.map(({ name }) => name)).toEqual(['put', 'pop']);
    for (const { key, values } of rows()) {
      expect([key, Object.keys(values)]).toEqual([key, FORMS]);
      for (const value of Object.values(values))
        expect([key, value?.median]).toEqual([key, expect.any(Number)]);
    }
  });

  it('compares rates and server time with their targets', () => {
    const judged = rows().filter(({ own }) => own?.met !== undefined);
    expect(judged.map(({ key }) => key)).toEqual([
      ...['putPipelinedServer', 'putPipelinedOfOriginal'],
      ...['popCompleteManyServer', 'popCompleteManyOfOriginal'],
    ]);
  });

  it('measures server time per job', () => {
    const spent = rows().filter(({ key }) => key.endsWith('Server'));
    expect(spent).toHaveLength(5);
    for (const { values } of spent)
      for (const value of Object.values(values)) expect(value?.median).toBeGreaterThan(0);
  });
});
