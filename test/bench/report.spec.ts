import { describe, expect, it } from '@jest/globals';
import { summarize, type Row } from '../../bench/harness/report.mjs';
import { toText } from '../../bench/harness/text.mjs';

type Figures = Readonly<Record<string, readonly (number | null)[]>>;

const host = {
  cpu: 'Abacus',
  cores: 2,
  memoryGiB: 1,
  system: 'os',
  node: 'v20',
  loadAverage: [0.5, 0.25, 0],
};
const contender = (key: string) => ({ key, title: key.toUpperCase(), version: '1.0.0', options: 'its own' });

/** The report of one row, from each contender's figure of each round. */
function reportOf(row: Partial<Row>, figures: Figures, compared?: 'min') {
  const rows: Row[] = [{ key: 'rate', title: 'rate', unit: 'jobs/s', better: 'more', ...row }];
  const rounds = Object.entries(figures).map(
    ([key, values]) => [key, values.map((value) => ({ rate: value }))] as const,
  );
  const report = summarize({
    suite: {
      name: 'some',
      title: 'Some suite',
      contenders: ['ours', 'one', 'other'].map(contender),
      ...(compared && { compared }),
    },
    measurements: [{ name: 'speed', title: 'speed of all', rows }],
    results: new Map([['speed', new Map(rounds)]]),
    host,
    facts: [['persistence', 'none']],
    options: { rounds: 3, scale: 1 },
  });
  return { report, row: report.sections[0]?.rows[0] };
}

describe('the report', () => {
  it('has medians, and the spread they come from', () => {
    const { row } = reportOf({}, { ours: [30, 10, 20], one: [4, 1] });
    expect(row?.values).toEqual({
      ours: { median: 20, min: 10, max: 30, rounds: [30, 10, 20] },
      one: { median: 2.5, min: 1, max: 4, rounds: [4, 1] },
    });
  });

  it('compares the smallest figures of a suite that says so', () => {
    const targets = { one: 2 };
    const { row, report } = reportOf(
      { targets, better: 'less' },
      { ours: [50, 30, 80], one: [15, 90] },
      'min',
    );
    expect(row?.ratios.one).toEqual({ value: 2, target: 2, met: true });
    expect(toText(report)).toMatch(/rate, jobs\/s \(-\) +30 ±\d+% +15 ±\d+% +2x +<= 2 met/);
  });

  it('divides the figure of this package by the others', () => {
    const { row } = reportOf({}, { ours: [30], one: [10], other: [60] });
    expect(row?.ratios).toEqual({ one: { value: 3 }, other: { value: 0.5 } });
  });

  it('compares the ratio with its target: at least if more is better, at most if less is', () => {
    const figures = { ours: [30], one: [10], other: [60] };
    const targets = { one: 3, other: 0.6 };
    const more = reportOf({ targets }, figures);
    expect(more.row?.ratios).toMatchObject({ one: { met: true }, other: { met: false } });
    expect(more.report.targets).toEqual({ met: 1, of: 2 });

    const less = reportOf({ targets, better: 'less' }, figures);
    expect(less.row?.ratios).toMatchObject({ one: { met: true }, other: { met: true } });
    expect(reportOf({ targets: { one: 2.9 }, better: 'less' }, figures).report.targets.met).toBe(0);
  });

  it('compares the own figure with a target without a ratio', () => {
    const { report, row } = reportOf({ target: 50, better: 'less' }, { ours: [49] });
    expect(row?.own).toEqual({ value: 49, target: 50, met: true });
    expect(report.targets).toEqual({ met: 1, of: 1 });
  });

  it('has no ratio to a missing figure', () => {
    const { row } = reportOf({}, { ours: [30], one: [null], other: [15] });
    expect(row?.values['one']).toBeNull();
    expect(row?.ratios).toEqual({ other: { value: 2 } });
  });
});

describe('the report as a text', () => {
  it('names the host, the conditions and the setup of each contender', () => {
    const text = toText(reportOf({}, { ours: [30] }).report);
    expect(text).toMatch(/^host +2 x Abacus, 1 GiB, os$/m);
    expect(text).toMatch(/^load before +0\.50 0\.25 0\.00/m);
    expect(text).toMatch(/^persistence +none$/m);
    expect(text).toMatch(/^ONE 1\.0\.0: its own$/m);
  });

  it('prints ratio and target beside the figures', () => {
    const figures = { ours: [29_000, 30_000, 31_000], one: [10_000], other: [60_000] };
    const text = toText(reportOf({ targets: { one: 2.5, other: 1 } }, figures).report);
    expect(text).toMatch(/rate, jobs\/s \(\+\) +30,000 ±3% +10,000 ±0% +3x +>= 2\.5 met/);
    expect(text).toMatch(/60,000 ±0% +0\.5x +>= 1 NOT MET$/m);
    expect(text).toMatch(/^targets: 1 of 2 met$/m);
  });

  it('leaves a cell empty if there is no figure', () => {
    const text = toText(reportOf({}, { ours: [30], other: [15] }).report);
    expect(text).toMatch(/rate, jobs\/s \(\+\) +30 ±0% +15 ±0% +2x$/m);
  });
});
