import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Claim } from '../../lib/job/job-source.js';
import { Isolation, type IsolatedWorker } from '../../lib/worker/isolation.js';
import { until } from '../support/until.js';

const claim = { fn: 'fn', id: '1' } as Claim;
const SOON_MS = 1;
const NEVER_MS = 2 ** 31 - 1;

class StubWorker implements IsolatedWorker {
  runs = 0;
  readonly did: string[] = [];
  readonly setOpen = (isOpen: boolean) => void this.did.push(isOpen ? 'opens' : 'closes');
  readonly holdSuspect = () => void this.did.push('holds');
  readonly beginSuspect = () => void this.did.push('begins');
  readonly releaseSuspect = () => void this.did.push('gives back');
}

describe('Isolation', () => {
  let [one, other] = [new StubWorker(), new StubWorker()];
  function isolationOf(patience = NEVER_MS): Isolation {
    const isolation = new Isolation(patience);
    for (const worker of [one, other]) isolation.join(worker);
    return isolation;
  }
  beforeEach(() => {
    [one, other] = [new StubWorker(), new StubWorker()];
  });

  it('begins a suspect at once where nothing runs, and opens when it has ended', () => {
    const isolation = isolationOf();
    isolation.add(claim, one);
    expect([one.did, other.did]).toEqual([['closes', 'begins'], ['closes']]);
    isolation.begun(claim);
    expect(isolation.isClosed).toBe(true);
    expect(isolation.ended(claim)).toBe(true);
    expect([isolation.isClosed, one.did.at(-1), other.did.at(-1)]).toEqual([false, 'opens', 'opens']);
  });

  it('waits for the jobs of all workers of the process', () => {
    const isolation = isolationOf();
    [one.runs, other.runs] = [1, 1];
    isolation.add(claim, one);
    one.runs = 0;
    expect(isolation.ended({ ...claim, id: '2' })).toBe(false);
    expect(one.did).toEqual(['closes', 'holds']);
    other.runs = 0;
    isolation.ended({ ...claim, id: '3' });
    expect(one.did.at(-1)).toBe('begins');
  });

  it('does not wait without end for a job that never ends', async () => {
    other.runs = 1;
    isolationOf(SOON_MS).add(claim, one);
    await until(() => one.did.includes('begins'));
  });

  it('gives a suspect back that its server does not note, and opens', async () => {
    const isolation = isolationOf(SOON_MS);
    isolation.add(claim, one);
    await until(() => !isolation.isClosed);
    expect(one.did).toEqual(['closes', 'begins', 'opens', 'gives back']);
    expect(isolation.waiting).toBeUndefined();
  });

  it('opens while a suspect that never ends goes on', async () => {
    const isolation = isolationOf(SOON_MS);
    isolation.add(claim, one);
    isolation.begun(claim);
    await until(() => !isolation.isClosed);
    expect(other.did.at(-1)).toBe('opens');
  });

  it('opens when a suspect that waits is cancelled, or its worker stops', () => {
    for (const end of ['cancelled', 'stopped']) {
      const isolation = isolationOf();
      other.runs = 1;
      isolation.add(claim, one);
      if (end === 'cancelled') isolation.ended(claim);
      else expect(isolation.leave(one)).toBe(claim);
      expect([isolation.isClosed, isolation.waiting]).toEqual([false, undefined]);
    }
  });
});
