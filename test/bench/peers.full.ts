import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../bench/harness/report.mjs';
import { bench, BENCH_TIMEOUT_MS, benchReport } from './run-bench.js';

const OURS = 'gearmonkey';
const OTHERS = ['bullmq', 'bee-queue'];

describe('the command of the benchmark', () => {
  it.each([
    [
      'a suite',
      ['nosuch'],
      'Expected a suite of before, jobd, jq, keep, limits, peers, qless, realistic, statistics, tags',
    ],
    ['a measurement', ['--only', 'cost,nosuch'], 'Expected --only to be of throughput, '],
  ])(
    'lists the valid names if %s is unknown',
    async (_, args, message) => {
      const refused = bench(...args);
      await expect(refused).rejects.toThrow('It ended with 2.');
      await expect(refused).rejects.toThrow(message);
    },
    BENCH_TIMEOUT_MS,
  );
});

describe('the benchmark of the peers, with a few jobs', () => {
  let folder: string;
  let report: Report;
  let svg: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-bench-'));
    const chart = join(folder, 'bench.svg');
    report = await benchReport(0.0005, '--svg', chart);
    svg = await readFile(chart, 'utf8');
  }, BENCH_TIMEOUT_MS);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const rows = () => report.sections.flatMap((section) => section.rows);

  it('runs every measurement', () => {
    expect(report.sections.map(({ name }) => name)).toEqual([
      'throughput',
      'latency',
      'plain',
      'cost',
      'no-events',
      'payload-1k',
      'payload-50k',
      'delay',
      'processes',
    ]);
  });

  it('yields a number of every contender for every row', () => {
    for (const { key, values } of rows()) {
      for (const [contender, value] of Object.entries(values)) {
        // Systems other than Linux don't tell the time of a thread.
        if (value === null && key === 'redisMainCpu') continue;
        expect([key, contender, Number.isFinite(value?.median)]).toEqual([key, contender, true]);
      }
    }
  });

  it('compares this package with every other contender', () => {
    for (const { key, values, ratios } of rows()) {
      expect([key, Object.keys(ratios)]).toEqual([key, OTHERS.filter((other) => values[other])]);
      for (const [other, { value }] of Object.entries(ratios)) {
        expect(value).toBeCloseTo((values[OURS]?.median ?? NaN) / (values[other]?.median ?? NaN));
      }
    }
    const alone = report.sections.filter(({ rows: own }) =>
      own.every(({ ratios }) => Object.keys(ratios).length === 0),
    );
    expect(alone.map(({ name }) => name)).toEqual(['plain']);
  });

  it('compares figures with their targets', () => {
    const judged = rows().filter(({ ratios, own }) =>
      [own, ...Object.values(ratios)].some((verdict) => verdict?.met !== undefined),
    );
    expect(judged.map(({ key }) => key)).toEqual([
      ...['enqueue', 'bulk', 'process1', 'process10', 'process100'],
      ...['startP50', 'callP50', 'plainP50'],
      ...['redisEnqueue', 'redisRun', 'clientCpu', 'workerCpu', 'workerCpu1'],
      ...['1k', '50k'].flatMap((size) =>
        ['enqueue', 'bulk', 'process100'].map((key) => `payload-${size}-${key}`),
      ),
      ...['enqueue', 'bulk', 'process1', 'process10', 'process100', 'startP50', 'callP50'].map(
        (key) => `delay-${key}`,
      ),
      ...['flow', 'drain4'],
    ]);
    expect(report.targets.of).toBe(50);
  });

  it('names the host, the versions, the persistence and the payload', () => {
    expect(report.host).toMatchObject({ node: process.version, cores: expect.any(Number) });
    expect(report.contenders.map(({ key }) => key)).toEqual([OURS, ...OTHERS]);
    for (const { version } of report.contenders) expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(Object.keys(report.facts)).toEqual(['redis', 'persistence', 'network', 'payload', 'method']);
    expect(report.facts['persistence']).toBe("none (save '', appendonly no, io-threads 1, maxmemory 0)");
  });

  it('draws a chart', () => {
    expect(svg).toMatch(/^<svg /);
    for (const { title } of report.contenders) expect(svg).toContain(`>${title}</text>`);
    expect(svg).toContain('>Enqueue (jobs/s, more is better)</text>');
  });
});
