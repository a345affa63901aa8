import { describe, expect, it } from '@jest/globals';
import { toText } from './report.js';
import { run } from './run.js';
import { SHORT_RUN } from './short-run.js';

const SEED = Number(process.env['CHAOS_SEED'] ?? 1);

describe('thousands of jobs during faults', () => {
  it('are neither lost nor completed twice', async () => {
    const result = await run({ ...SHORT_RUN, seed: SEED });
    if (result.violations.length > 0) throw new Error(toText(result));
    expect(result.injected.length).toBe(result.faults.length);
  }, 900_000);
});
