import { describe, expect, it } from '@jest/globals';
import { BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

describe('the benchmark of limits, with a few jobs', () => {
  it(
    'yields a number for every row, without a limit and for each number of keys',
    async () => {
      const report = await benchReport(0.005, 'limits');
      const rows = report.sections.flatMap((section) => section.rows);
      expect(rows.map(({ key }) => key)).toEqual(['enqueue', 'process', 'redisCpu']);
      for (const { key, values } of rows) {
        expect([key, Object.keys(values)]).toEqual([key, ['none', 'one', 'hundred', 'many']]);
        for (const value of Object.values(values)) expect(value?.median).toBeGreaterThan(0);
      }
    },
    BENCH_TIMEOUT_MS,
  );
});
