import { describe, expect, it } from '@jest/globals';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { Inbox, type PushRequest } from '../../../lib/jq/worker/inbox.js';
import type { Registration } from '../../../lib/jq/worker/registration.js';
import type { Claim } from '../../../lib/job/job-source.js';
import { turnOfEventLoop } from '../../../lib/testing/real-time.js';
import { gate } from '../../support/gate.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';

const job = (id: string, name = 'mail') => ({
  ...{ id, name, argument: Raw.EMPTY_MAP, timeout: 30, attempt: 1, retryCount: 0, isLast: false },
});
const registrationOf = () => ({ held: new Set(), maxJobs: 1, workerId: 'w' }) as unknown as Registration;

/** A push that is answered when a test says so, or whose sender is gone. */
function openPush(): { request: PushRequest; answer: (isThere: boolean) => void } {
  const callbacks: ((isThere: boolean) => void)[] = [];
  const request = {
    onGone: () => undefined,
    onAnswered: (callback: (isThere: boolean) => void) => void callbacks.push(callback),
  };
  return { request, answer: (isThere) => callbacks.forEach((each) => each(isThere)) };
}

const ANSWERED: PushRequest = {
  onGone: () => undefined,
  onAnswered: (callback) => void setImmediate(callback, true),
};

describe('the inbox of a worker', () => {
  it('has no more jobs at a time than the worker may run, of several functions together', async () => {
    const inbox = new Inbox(1);
    const slots = new SlotTable([
      ['mail', 1],
      ['resize', 1],
    ]);
    const claiming = inbox.claim(slots, new AbortController().signal);
    const arrivals = [
      inbox.arrive(job('a'), registrationOf()),
      inbox.arrive(job('b', 'resize'), registrationOf()),
    ];
    await expect(arrivals[0]).resolves.toBe('taken');
    const claims = await claiming;
    expect(claims.map(({ id }) => id)).toEqual(['a']);
    for (const claim of claims) inbox.release(claim);
    const next = await inbox.claim(slots, new AbortController().signal);
    expect(next.map(({ id }) => id)).toEqual(['b']);
    await expect(arrivals[1]).resolves.toBe('taken');
  });

  it('has no job of a push begin before the push is answered, nor if its master is gone by then', async () => {
    const inbox = new Inbox(3);
    const registration = { ...registrationOf(), maxJobs: 3 } as Registration;
    const slots = new SlotTable([['mail', 3]]);
    const answers: ((isThere: boolean) => void)[] = [];
    const request = {
      ...ANSWERED,
      onAnswered: (callback: (isThere: boolean) => void) => void answers.push(callback),
    };
    let claimed: readonly Claim[] = [];
    const claiming = inbox
      .claim(slots, new AbortController().signal)
      .then((claims) => void (claimed = claims));
    for (const id of ['a', 'b', 'c'])
      await expect(inbox.arrive(job(id), registration, request)).resolves.toBe('taken');
    answers[0]?.(false);
    await turnOfEventLoop();
    expect([claimed, registration.held.size]).toEqual([[], 2]);
    answers[1]?.(true);
    await claiming;
    expect(claimed.map(({ id }) => id)).toEqual(['b']);
    // It has a slot, which no other job gets meanwhile.
    const full = new SlotTable([['mail', 1]]);
    const next = inbox.claim(full, new AbortController().signal);
    const late = inbox.arrive(job('d'), registration);
    answers[2]?.(true);
    expect((await next).map(({ id }) => id)).toEqual(['c']);
    await expect(late).resolves.toBe('unclaimed');
  });

  it('lets no registration pull in turn whose master sends no attempts, and may know no pulls', async () => {
    const inbox = new Inbox(1);
    const registration = registrationOf();
    void inbox.claim(new SlotTable([['mail', 1]]), new AbortController().signal);
    await expect(inbox.arrive(job('a'), registration, ANSWERED)).resolves.toBe('taken');
    const { attempt: _, ...bare } = job('b');
    await expect(inbox.arrive(bare, registrationOf(), ANSWERED)).resolves.toBe('full');
    expect(inbox.turns.begin(() => true)).toBeUndefined();
    const other = registrationOf();
    await expect(inbox.arrive(job('b'), other, ANSWERED)).resolves.toBe('full');
    expect(inbox.turns.begin(() => true)).toBe(other);
  });

  it('gives a pulled job up that no slot takes soon, and one of a worker that leaves at once', async () => {
    const inbox = new Inbox(2);
    const registration = registrationOf();
    await expect(inbox.arrive(job('a'), registration)).resolves.toBe('unclaimed');
    const other = inbox.arrive(job('b'), registration);
    inbox.revoke(registration);
    await expect(other).resolves.toBe('unclaimed');
    const stopping = new AbortController();
    const claiming = inbox.claim(new SlotTable([['mail', 1]]), stopping.signal);
    stopping.abort();
    await expect(claiming).resolves.toEqual([]);
  });

  it('takes a push again whose sender was gone before the answer, also if it comes before that is known', async () => {
    for (const isKnown of [true, false]) {
      const inbox = new Inbox(1);
      const registration = registrationOf();
      const claiming = inbox.claim(new SlotTable([['mail', 1]]), new AbortController().signal);
      const [broken, repeated] = [openPush(), openPush()];
      await expect(inbox.arrive(job('a'), registration, broken.request)).resolves.toBe('taken');
      if (isKnown) broken.answer(false);
      await expect(inbox.arrive(job('a'), registration, repeated.request)).resolves.toBe('taken');
      if (!isKnown) broken.answer(false);
      repeated.answer(true);
      expect((await claiming).map(({ id }) => id)).toEqual(['a']);
      expect(registration.held.size).toBe(1);
      await expect(inbox.arrive(job('a'), registration, openPush().request)).resolves.toBe('taken');
    }
  });

  it('keeps a job whose older attempt comes late, and refuses that', async () => {
    const inbox = new Inbox(2);
    const lost: Claim[] = [];
    inbox.onRevoked = (claim) => void lost.push(claim);
    const registration = { ...registrationOf(), maxJobs: 2 } as Registration;
    const slots = new SlotTable([['mail', 2]]);
    const claiming = inbox.claim(slots, new AbortController().signal);
    const arrive = (attempt: number) => inbox.arrive({ ...job('a'), attempt }, registration, ANSWERED);
    await expect(arrive(2)).resolves.toBe('taken');
    await claiming;
    void inbox.claim(slots, new AbortController().signal);
    await expect(arrive(1)).resolves.toBe('unclaimed');
    expect([lost, registration.held.size]).toEqual([[], 1]);
    await expect(arrive(3)).resolves.toBe('taken');
    expect(lost).toHaveLength(1);
  });

  it('gives a job back that no claim returns once its push is answered, as of a worker that stops', async () => {
    const inbox = new Inbox(1);
    const given = gate<string>();
    inbox.onUnclaimed = ({ claim }) => given.open(claim.id);
    const registration = registrationOf();
    const [stopping, push] = [new AbortController(), openPush()];
    const claiming = inbox.claim(new SlotTable([['mail', 1]]), stopping.signal);
    await expect(inbox.arrive(job('a'), registration, push.request)).resolves.toBe('taken');
    stopping.abort();
    await expect(claiming).resolves.toEqual([]);
    push.answer(true);
    await expect(given.passed).resolves.toBe('a');
    expect(registration.held.size).toBe(0);
  });

  it('has no job of a registration that is over begin, also if its push is answered later', async () => {
    const inbox = new Inbox(1);
    const registration = registrationOf();
    const push = openPush();
    const claiming = inbox.claim(new SlotTable([['mail', 1]]), new AbortController().signal);
    await expect(inbox.arrive(job('a'), registration, push.request)).resolves.toBe('taken');
    inbox.revoke(registration);
    push.answer(true);
    await expect(inbox.arrive(job('b'), registrationOf())).resolves.toBe('taken');
    expect((await claiming).map(({ id }) => id)).toEqual(['b']);
  });

  it('counts the jobs of each function until they end', async () => {
    const inbox = new Inbox(2);
    const registration = registrationOf();
    const claiming = inbox.claim(new SlotTable([['mail', 1]]), new AbortController().signal);
    const push = (id: string) => inbox.arrive(job(id), registration, ANSWERED);
    await expect(push('a')).resolves.toBe('taken');
    await expect(push('b')).resolves.toBe('full');
    const [claim] = await claiming;
    if (claim) inbox.release(claim);
    expect(registration.held.size).toBe(0);
  });
});
