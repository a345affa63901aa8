import { describe, expect, it } from '@jest/globals';
import { BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

describe('the benchmark of statistics, with a few jobs', () => {
  it(
    'yields a number for every row, with statistics and without',
    async () => {
      const report = await benchReport(0.005, 'statistics');
      const rows = report.sections.flatMap((section) => section.rows);
      expect(rows.map(({ key }) => key)).toEqual(['process', 'workerCpu', 'redisCpu', 'commands']);
      for (const { key, values } of rows) {
        expect([key, Object.keys(values)]).toEqual([key, ['on', 'off']]);
        for (const value of Object.values(values)) expect(value?.median).toBeGreaterThan(0);
      }
    },
    BENCH_TIMEOUT_MS,
  );
});
