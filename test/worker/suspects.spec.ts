import { describe, expect, it } from '@jest/globals';
import type { Claim, Outcome } from '../../lib/job/job-source.js';
import { Isolation } from '../../lib/worker/isolation.js';
import { Suspects, type SuspectsParts } from '../../lib/worker/suspects.js';
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
      source: { isolate },
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
});
