import { describe, expect, it } from '@jest/globals';
import { droppedLine, Problems } from '../../lib/gearmonkey/core/source/problems.js';

describe('Problems', () => {
  it('logs a repeated line rarely, with the number of repetitions', () => {
    const lines: string[] = [];
    let now = 0;
    const problems = new Problems(
      (line) => lines.push(line),
      () => now,
    );
    for (let i = 0; i < 1000; i++) problems.report('call', `again ${i}`);
    problems.report('other', 'another');
    now = 10_000;
    problems.report('call', 'still');
    problems.report('call', 'still');
    expect(lines).toEqual(['again 0', 'another', 'still (and 999 more like it before)']);
  });

  it('escapes ids, and names only a few of many', () => {
    const lines: string[] = [];
    const problems = new Problems((line) => lines.push(line));
    problems.report('one', droppedLine('fn', ['1\n[Nest] forged\u001b[2J\u009b\u2028']));
    problems.report(
      'many',
      droppedLine(
        'fn',
        Array.from({ length: 500 }, (_, i) => `${i}`.padStart(1000, '0')),
      ),
    );
    expect(lines[0]).toContain('Job 1\\n[Nest] forged\\u001b[2J\\u009b\\u2028 of "fn"');
    expect(lines[1]).toMatch(/^500 jobs \(0{60}…, .*… and 495 more\) of "fn"/);
    expect(lines[1]?.length).toBeLessThan(500);
  });
});
