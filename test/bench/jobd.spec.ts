import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Report } from '../../bench/harness/report.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 120_000;

describe('the benchmark of jobd, with a few jobs', () => {
  let report: Report;

  beforeAll(async () => {
    const program = ['--import', '@swc-node/register/esm-register', 'bench/run.mjs', 'jobd'];
    const args = [...program, '--json', '--rounds', '1', '--scale', '0.01'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, timeout: TIMEOUT_MS });
    report = JSON.parse(stdout) as Report;
  }, TIMEOUT_MS);

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

  it('holds the targets against the daemon, in ratios to bare processes', () => {
    expect(rows().map(({ key, ratios }) => [key, ratios['bare']?.target])).toEqual([
      ['drain1', 0.9],
      ['drain8', 0.9],
      ['manualP50', 1.2],
      ['flood', 1.2],
    ]);
  });
});
