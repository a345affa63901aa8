import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { judge, table } from './series.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

describe('judge', () => {
  const bound = { part: 0.1, amount: 2 };
  const judged = (values: number[]) => judge({ name: 'keys', unit: '', values }, bound);

  it('takes what stays level, or was higher at first', () => {
    expect(judged(Array<number>(20).fill(100)).holds).toBe(true);
    expect(judged(Array.from({ length: 20 }, (_, at) => 200 - at)).holds).toBe(true);
  });

  it('does not look at what fills up at first, nor at single peaks', () => {
    const values = Array.from({ length: 40 }, (_, at) => (at < 10 ? at * 10 : 100));
    values[35] = 1000;
    expect(judged(values)).toMatchObject({ beginning: 100, end: 100, highest: 1000, holds: true });
  });

  it('notices growth beyond the bound', () => {
    const verdict = judged(Array.from({ length: 20 }, (_, at) => 100 + at * 5));
    expect(verdict.holds).toBe(false);
    expect(table([verdict])).toMatch(/^keys +\d+ +\d+ +\d+ +\d+ +GROWS$/m);
  });

  it('takes no figures for no proof', () => {
    expect(judged([]).holds).toBe(false);
  });
});

describe('the soak', () => {
  it('ends well in its short form, and says what it saw', async () => {
    const program = ['--import', '@swc-node/register/esm-register', 'test/soak/soak.ts', '--minutes', '0.5'];
    const { stdout } = await run(process.execPath, program, {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(stdout).toContain('Nothing grew in 0.5 minutes.');
    expect(stdout).toMatch(/enqueued \d+, finished \d+, cancelled \d+, watched \d+, called \d+/);
  }, 90_000);
});
