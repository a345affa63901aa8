import { describe, expect, it } from '@jest/globals';
import { BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

describe('the benchmark of options, with a few jobs', () => {
  it.each([
    ['statistics', ['on', 'off']],
    ['keep', ['default', 'age', 'count']],
  ])(
    'of %s yields a number for every row and setting',
    async (suite, settings) => {
      const report = await benchReport(0.005, suite);
      const rows = report.sections.flatMap((section) => section.rows);
      expect(rows.map(({ key }) => key)).toEqual(['process', 'workerCpu', 'redisCpu', 'commands']);
      for (const { key, values } of rows) {
        expect([key, Object.keys(values)]).toEqual([key, settings]);
        for (const value of Object.values(values)) expect(value?.median).toBeGreaterThan(0);
      }
    },
    BENCH_TIMEOUT_MS,
  );

  it(
    'of an earlier commit, which it builds, yields a number for every row',
    async () => {
      const report = await benchReport(0.005, 'before', 'HEAD');
      const rows = report.sections.flatMap((section) => section.rows);
      expect(rows).toHaveLength(8);
      for (const { values } of rows)
        for (const key of ['now', 'before']) expect(values[key]?.median).toBeGreaterThan(0);
    },
    BENCH_TIMEOUT_MS,
  );

  it(
    'of apps yields a number for every row and contender',
    async () => {
      const report = await benchReport(0.002, 'realistic');
      const rows = report.sections.flatMap((section) => section.rows);
      expect(rows).toHaveLength(19);
      for (const { key, values } of rows)
        for (const [contender, value] of Object.entries(values))
          expect([key, contender, value?.median]).toEqual([key, contender, expect.any(Number)]);
    },
    BENCH_TIMEOUT_MS,
  );

  it(
    'of tags yields a number for every row and number of tags',
    async () => {
      const report = await benchReport(0.005, 'tags');
      const rows = report.sections.flatMap((section) => section.rows);
      expect(rows.map(({ key }) => key)).toEqual(['bulk', 'single', 'redisCpu', 'memory']);
      for (const { key, values } of rows) {
        expect([key, Object.keys(values)]).toEqual([key, ['none', 'one', 'five', 'own']]);
        for (const value of Object.values(values)) expect(value?.median).toBeGreaterThan(0);
      }
    },
    BENCH_TIMEOUT_MS,
  );
});
