import { describe, expect, it } from '@jest/globals';
import type { Claim, Outcome } from '../../lib/job/job-source.js';
import { Isolation } from '../../lib/worker/isolation.js';
import { Suspects, type SuspectsParts } from '../../lib/worker/suspects.js';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';

const claim = { fn: 'fn', id: '1', token: 3, suspect: true } as Claim;

describe('A suspect', () => {
  it.each<[string, () => Promise<boolean>, string[]]>([
    [
      'could not be noted, as when its source was closed, is given back',
      () => Promise.reject(new Error('closed')),
      ['released'],
    ],
    ['is held by another worker is left alone', async () => false, []],
  ])('that %s', async (_, isolate, given) => {
    const settled: string[] = [];
    let dropped = 0;
    const slots = { take: () => true, drop: () => (dropped += 1) };
    const isolation = new Isolation(1000);
    const suspects = new Suspects(isolation, {
      source: { leases: { isolate } },
      functions: { get: () => slots, all: () => [], setOpen: () => undefined },
      running: { size: 0 },
      settler: { settle: ({ status }: Outcome) => settled.push(status) },
      jobLog: {},
      begin: () => settled.push('begun'),
      giveBack: () => undefined,
    } as never as SuspectsParts);
    suspects.take([claim]);
    await eventually(() => expect(dropped).toBe(1));
    expect(settled).toEqual(given);
    expect(isolation.isClosed).toBe(false);
  });

  it('that comes while a call for the one before has no answer is noted in order', async () => {
    const answers = { '1 begins': gate(), '2 waits': gate() };
    const noted: string[] = [];
    const isolate = async ({ id }: Claim, begins: boolean) => {
      const call = `${id} ${begins ? 'begins' : 'waits'}`;
      noted.push(call);
      await answers[call as keyof typeof answers]?.passed;
      return true;
    };
    let runs = 0;
    const begun: string[] = [];
    const isolation = new Isolation(60_000);
    const suspects = new Suspects(isolation, {
      source: { leases: { isolate } },
      functions: { get: () => ({ take: () => true }), all: () => [], setOpen: () => undefined },
      running: {
        get size() {
          return runs;
        },
      },
      settler: {},
      jobLog: { suspected: () => undefined },
      begin: ({ id }: Claim) => begun.push(id),
      giveBack: () => undefined,
    } as never as SuspectsParts);
    const second = { ...claim, id: '2' };
    suspects.take([claim]);
    await eventually(() => expect(noted).toEqual(['1 begins']));
    // It is lost meanwhile.
    suspects.ended(claim);
    runs = 1;
    suspects.take([second]);
    answers['1 begins'].open();
    await new Promise((resolve) => setImmediate(resolve));
    runs = 0;
    suspects.ended({ ...claim, id: '3' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(noted).toEqual(['1 begins', '2 waits']);
    answers['2 waits'].open();
    await eventually(() => expect(begun).toEqual(['2']));
    expect(noted).toEqual(['1 begins', '2 waits', '2 begins']);
    suspects.close();
    isolation.ended(second);
  });
});
