import { describe, expect, it } from '@jest/globals';
import { type Finding, confirmed, plainly, type Suspicion } from '../../lib/gearmonkey/core/examination.js';

const finding = (code: string, title = ''): Finding => ({ code, severity: 'error', title, remedy: '' });
const of = (code: string, ...ids: string[]): Suspicion => ({
  code,
  ids,
  finding: (those) => finding(code, those.join()),
});

describe('What the doctor sees twice', () => {
  it('is a finding', () => {
    expect(confirmed([plainly(finding('EVICTION'))], [plainly(finding('EVICTION'))])).toEqual([
      finding('EVICTION'),
    ]);
  });

  it('has the jobs of both looks', () => {
    expect(confirmed([of('LOST', '1', '2')], [of('LOST', '2', '3')])).toEqual([finding('LOST', '2')]);
  });

  it('is nothing if it is of another kind, or of other jobs', () => {
    expect(confirmed([of('LOST', '1')], [of('LEFT', '1')])).toEqual([]);
    expect(confirmed([of('LOST', '1')], [of('LOST', '2')])).toEqual([]);
    expect(confirmed([], [plainly(finding('EVICTION'))])).toEqual([]);
  });
});
